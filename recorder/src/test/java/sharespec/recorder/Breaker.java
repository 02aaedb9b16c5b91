package sharespec.recorder;

import java.lang.instrument.Instrumentation;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.AsmVisitorWrapper;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.implementation.Implementation;
import net.bytebuddy.jar.asm.ClassVisitor;
import net.bytebuddy.jar.asm.ClassWriter;
import net.bytebuddy.jar.asm.Opcodes;
import net.bytebuddy.jar.asm.commons.ClassRemapper;
import net.bytebuddy.jar.asm.commons.Remapper;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;
import org.apache.kafka.common.errors.CoordinatorNotAvailableException;

/**
 * An agent of the tests that alters a broker, or the recorder, on purpose.
 *
 * <p>Its option is what it alters: {@code count} (attempts are not counted), {@code endless} (locks do
 * not end), {@code anyone} (whoever likes may acknowledge), {@code renamed} (a method that is
 * woven has another name), {@code faulty} (the recorder cannot read what was acquired),
 * {@code unwritten} (each write is answered late, and every third one fails).
 */
public final class Breaker {
    private static final String STATE = "org.apache.kafka.server.share.fetch.InFlightState";
    private static final String TASK = "org.apache.kafka.server.share.fetch.AcquisitionLockTimerTask";
    private static final String PERSISTER = "org.apache.kafka.server.share.persister.DefaultStatePersister";
    private static final String PARTITION = "kafka.server.share.SharePartition";
    private static final String RECORDER = "sharespec.recorder.Kafka";
    private static final int LATE_MS = 800;
    private static final Set<String> COMPARING =
        Set.of("validateAcknowledgementBatchMemberId", "acknowledgePerOffsetBatchRecords");
    /** The state of a record is asked by these, or by a batch of records that they ask. */
    private static final int NEAR = 3;
    /** Public, as what is woven into Kafka's class uses it. */
    public static final ThreadLocal<String> ASKING = new ThreadLocal<>();
    private static final AtomicInteger WRITES = new AtomicInteger();
    private static final String RENAMED = "maybeUpdateCachedStateAndOffsets";

    private Breaker() { }

    public static void premain(String what, Instrumentation instrumentation) {
        switch (what) {
            case "count" -> advise(instrumentation, STATE, "tryUpdateState", NoCount.class);
            case "endless" -> advise(instrumentation, TASK, "run", NoEnd.class);
            case "anyone" -> {
                advise(instrumentation, PARTITION, "acknowledge", Asked.class);
                advise(instrumentation, STATE, "memberId", ByWhoeverAsks.class);
            }
            case "faulty" -> advise(instrumentation, RECORDER, "acquired", Fault.class);
            case "unwritten" -> advise(instrumentation, PERSISTER, "writeState", Unwritten.class);
            case "renamed" -> transform(instrumentation, PARTITION, builder -> builder.visit(new Renaming()));
            default -> throw new IllegalArgumentException(what);
        }
    }

    private interface Change {
        DynamicType.Builder<?> apply(DynamicType.Builder<?> builder);
    }

    private static void advise(Instrumentation instrumentation, String type, String method, Class<?> advice) {
        transform(instrumentation, type,
            builder -> builder.visit(Advice.to(advice).on(ElementMatchers.named(method))));
    }

    private static void transform(Instrumentation instrumentation, String name, Change change) {
        new AgentBuilder.Default().disableClassFormatChanges().ignore(ElementMatchers.none())
            .type(ElementMatchers.named(name))
            .transform((builder, type, loader, module, domain) -> change.apply(builder))
            .installOn(instrumentation);
    }

    static final class NoCount {
        private NoCount() { }

        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(value = 1, readOnly = false,
                typing = net.bytebuddy.implementation.bytecode.assign.Assigner.Typing.DYNAMIC) Object counting) {
            counting = Enum.valueOf((Class) counting.getClass(), "NO_OP");
        }
    }

    static final class NoEnd {
        private NoEnd() { }

        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter() {
            return true;
        }
    }

    static final class Asked {
        private Asked() { }

        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(0) String member) {
            Breaker.ASKING.set(member);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit() {
            Breaker.ASKING.remove();
        }
    }

    static final class ByWhoeverAsks {
        private ByWhoeverAsks() { }

        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false) String owner) {
            owner = Breaker.owner(owner);
        }
    }

    static final class Fault {
        private Fault() { }

        @Advice.OnMethodEnter
        static void enter() {
            throw new IllegalStateException("on purpose");
        }
    }

    static final class Unwritten {
        private Unwritten() { }

        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter() {
            return Breaker.fails();
        }

        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false) CompletableFuture<?> answer) {
            answer = Breaker.late(answer);
        }
    }

    /** Returns whether the next write does not reach the share coordinator. */
    public static boolean fails() {
        return WRITES.incrementAndGet() % 3 == 0;
    }

    /** Returns an answer that comes later: that of a write, or without one an error. */
    public static CompletableFuture<?> late(CompletableFuture<?> written) {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        CompletableFuture<?> settled = written != null ? written
            : CompletableFuture.failedFuture(new CoordinatorNotAvailableException("on purpose"));
        settled.whenCompleteAsync((result, failure) -> {
            if (failure == null) {
                answer.complete(result);
            } else {
                answer.completeExceptionally(failure);
            }
        }, CompletableFuture.delayedExecutor(LATE_MS, TimeUnit.MILLISECONDS));
        return answer;
    }

    /** Returns who asks in place of the owner, if there is one, where the two are compared. */
    public static String owner(String owner) {
        String asking = ASKING.get();
        return asking == null || owner == null || owner.isEmpty() || !areCompared() ? owner : asking;
    }

    private static boolean areCompared() {
        return StackWalker.getInstance().walk(frames -> frames
            .filter(frame -> !frame.getClassName().equals(Breaker.class.getName())).limit(NEAR)
            .anyMatch(frame -> COMPARING.contains(frame.getMethodName())));
    }

    private static final class Renaming implements AsmVisitorWrapper {
        @Override
        public int mergeWriter(int flags) {
            return flags | ClassWriter.COMPUTE_MAXS;
        }

        @Override
        public int mergeReader(int flags) {
            return flags;
        }

        @Override
        public ClassVisitor wrap(TypeDescription type, ClassVisitor visitor, Implementation.Context context,
                TypePool pool, net.bytebuddy.description.field.FieldList<
                    net.bytebuddy.description.field.FieldDescription.InDefinedShape> fields,
                net.bytebuddy.description.method.MethodList<?> methods, int writerFlags, int readerFlags) {
            return new ClassRemapper(Opcodes.ASM9, visitor, new Remapper() {
                @Override
                public String mapMethodName(String owner, String name, String descriptor) {
                    return name.equals(RENAMED) ? RENAMED + "InFlight" : name;
                }
            }) { };
        }
    }
}
