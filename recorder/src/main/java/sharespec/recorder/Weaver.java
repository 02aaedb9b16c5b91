package sharespec.recorder;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.AsmVisitorWrapper;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.scaffold.InstrumentedType;
import net.bytebuddy.dynamic.scaffold.MethodGraph;
import net.bytebuddy.implementation.Implementation;
import net.bytebuddy.jar.asm.ClassWriter;
import net.bytebuddy.jar.asm.MethodVisitor;
import net.bytebuddy.jar.asm.Opcodes;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;

/**
 * Weaves SharePartition: all hooks, or none and the class as it is.
 *
 * <p>No field or method is added, so that a class that is loaded already can be woven too.
 */
final class Weaver implements ClassFileTransformer {
    static final String CLASS = "kafka.server.share.SharePartition";
    private static final String PATH = CLASS.replace('.', '/');

    private final Recorder recorder;
    private final Header header;

    Weaver(Recorder recorder, Header header) {
        this.recorder = recorder;
        this.header = header;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain,
            byte[] bytes) {
        if (!PATH.equals(name) || recorder.stopped() != null) {
            return null;
        }
        try {
            if (Class.forName(Hooks.class.getName(), false, loader) != Hooks.class) {
                throw new IllegalStateException("Kafka's class loader sees another recorder");
            }
            byte[] woven = weave(loader, bytes);
            new Rehearsal(loader, woven).check();
            Kafka.Source.loader = loader;
            header.woven(loader, Hook.ALL.stream().map(Hook::toString).toList());
            return woven;
        } catch (Throwable unexpected) {
            recorder.stop(CLASS + " is not as expected: " + unexpected);
            return null;
        }
    }

    private static byte[] weave(ClassLoader loader, byte[] bytes) {
        ClassFileLocator locator = new ClassFileLocator.Compound(
            ClassFileLocator.Simple.of(CLASS, bytes), ClassFileLocator.ForClassLoader.of(loader));
        TypePool pool = TypePool.Default.of(locator);
        Members.check(pool);
        TypeDescription type = pool.describe(CLASS).resolve();
        Map<Hook, MethodDescription> methods = methods(type);
        List<Sites> all = new ArrayList<>();
        // Synthetic methods are woven too: lambdas are such.
        DynamicType.Builder<?> builder = new ByteBuddy().ignore(ElementMatchers.none())
            .with(Implementation.Context.Disabled.Factory.INSTANCE)
            .with(MethodGraph.Compiler.ForDeclaredMethods.INSTANCE)
            .with(InstrumentedType.Factory.Default.FROZEN)
            .redefine(type, locator);
        for (Map.Entry<Hook, MethodDescription> entry : methods.entrySet()) {
            Hook hook = entry.getKey();
            if (hook.advice() != null) {
                builder = builder.visit(Advice.to(hook.advice()).on(ElementMatchers.is(entry.getValue())));
            }
            Sites sites = new Sites(hook);
            all.add(sites);
            builder = builder.visit(new AsmVisitorWrapper.ForDeclaredMethods()
                .writerFlags(ClassWriter.COMPUTE_MAXS).method(ElementMatchers.is(entry.getValue()), sites));
        }
        byte[] woven = builder.make().getBytes();
        all.forEach(Sites::check);
        return woven;
    }

    /** Returns the method of each hook; each must be there exactly once. */
    private static Map<Hook, MethodDescription> methods(TypeDescription type) {
        boolean deadLetters = !type.getDeclaredMethods()
            .filter(ElementMatchers.named("isDLQEnabledForGroup")).isEmpty();
        Map<Hook, MethodDescription> methods = new java.util.LinkedHashMap<>();
        for (Hook hook : Hook.ALL) {
            List<? extends MethodDescription> matching =
                type.getDeclaredMethods().stream().filter(hook::matches).toList();
            int expected = hook.deadLetters() && !deadLetters ? 0 : 1;
            if (matching.size() != expected) {
                throw new IllegalStateException(hook + " occurs " + matching.size() + " times, not " + expected);
            }
            if (expected == 1) {
                methods.put(hook, matching.get(0));
            }
        }
        return methods;
    }

    /** Inserts the hooks at the calls of one method, and counts them. */
    private static final class Sites implements AsmVisitorWrapper.ForDeclaredMethods.MethodVisitorWrapper {
        private final Hook hook;
        private final Map<CallSite, Integer> counts = new EnumMap<>(CallSite.class);

        Sites(Hook hook) {
            this.hook = hook;
        }

        void check() {
            for (CallSite site : hook.sites()) {
                int count = counts.getOrDefault(site, 0);
                if (!site.isExpected(count)) {
                    throw new IllegalStateException(hook + " has " + count + " calls of " + site);
                }
            }
        }

        @Override
        public MethodVisitor wrap(TypeDescription type, MethodDescription method, MethodVisitor visitor,
                Implementation.Context context, TypePool pool, int writerFlags, int readerFlags) {
            List<CallSite> sites = List.of(hook.sites());
            return new MethodVisitor(Opcodes.ASM9, visitor) {
                @Override
                public void visitMethodInsn(int opcode, String owner, String name, String descriptor,
                        boolean ofInterface) {
                    CallSite site = CallSite.of(sites, owner, name);
                    if (site != null) {
                        counts.merge(site, 1, Integer::sum);
                        site.insert(mv);
                    }
                    super.visitMethodInsn(opcode, owner, name, descriptor, ofInterface);
                }
            };
        }
    }
}
