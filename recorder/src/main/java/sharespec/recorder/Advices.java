package sharespec.recorder;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** The code that is woven into SharePartition's methods: calls of Hooks, and no more. */
final class Advices {
    private Advices() { }

    static final class OfAcquire {
        private OfAcquire() { }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static Object enter(@Advice.This Object source, @Advice.Argument(0) String member,
                @Advice.Argument(1) Object mode, @Advice.Argument(2) int batchSize,
                @Advice.Argument(3) int maxRecords, @Advice.Argument(4) long fetchOffset,
                @Advice.Argument(5) Object read, @Advice.Argument(6) Object isolation) {
            return Hooks.acquire(source, member, mode, batchSize, maxRecords, fetchOffset, read, isolation);
        }

        @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
        static void exit(@Advice.Enter Object begun, @Advice.Thrown Throwable thrown,
                @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object result) {
            Hooks.end(begun, result, thrown);
        }
    }

    static final class OfAcknowledge {
        private OfAcknowledge() { }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static Object enter(@Advice.This Object source, @Advice.Argument(0) String member,
                @Advice.Argument(1) List<?> batches) {
            return Hooks.acknowledge(source, member, batches);
        }

        @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
        static void exit(@Advice.Enter Object begun, @Advice.Thrown Throwable thrown,
                @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object result) {
            Hooks.end(begun, result, thrown);
        }
    }

    static final class OfRelease {
        private OfRelease() { }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static Object enter(@Advice.This Object source, @Advice.Argument(0) String member) {
            return Hooks.acknowledge(source, member, null);
        }

        @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
        static void exit(@Advice.Enter Object begun, @Advice.Thrown Throwable thrown,
                @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object result) {
            Hooks.end(begun, result, thrown);
        }
    }

    static final class OfLogStart {
        private OfLogStart() { }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static Object enter(@Advice.This Object source, @Advice.Argument(0) long offset) {
            return Hooks.moveLogStart(source, offset);
        }

        @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
        static void exit(@Advice.Enter Object begun, @Advice.Thrown Throwable thrown) {
            Hooks.end(begun, null, thrown);
        }
    }

    static final class OfExpiry {
        private OfExpiry() { }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static Object enter(@Advice.This Object source, @Advice.Argument(3) Object task) {
            return Hooks.expire(source, task);
        }

        @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
        static void exit(@Advice.Enter Object begun, @Advice.Thrown Throwable thrown) {
            Hooks.end(begun, null, thrown);
        }
    }

    static final class OfInitialization {
        private OfInitialization() { }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static Object enter(@Advice.This Object source) {
            return Hooks.initialize(source);
        }

        @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
        static void exit(@Advice.Enter Object begun, @Advice.Thrown Throwable thrown) {
            Hooks.end(begun, null, thrown);
        }
    }

    static final class OfDeadLetters {
        private OfDeadLetters() { }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static Object enter(@Advice.This Object source, @Advice.Argument(1) long first,
                @Advice.Argument(2) long last) {
            return Hooks.sendDeadLetters(source, first, last);
        }

        @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
        static void exit(@Advice.Enter Object begun, @Advice.Thrown Throwable thrown) {
            Hooks.end(begun, null, thrown);
        }
    }

    static final class OfStateUpdates {
        private OfStateUpdates() { }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static void enter(@Advice.This Object source, @Advice.Argument(0) CompletableFuture<?> answer) {
            Hooks.answersWith(source, answer);
        }
    }

    static final class OfFilter {
        private OfFilter() { }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static void enter(@Advice.This Object source, @Advice.Argument(2) Object acquired) {
            Hooks.beforeFilter(source, acquired);
        }
    }

    static final class OfAborted {
        private OfAborted() { }

        @Advice.OnMethodExit(suppress = Throwable.class)
        static void exit(@Advice.This Object source, @Advice.Return Iterable<?> batches) {
            Hooks.aborted(source, batches);
        }
    }
}
