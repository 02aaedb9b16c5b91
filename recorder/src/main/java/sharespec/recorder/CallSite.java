package sharespec.recorder;

import java.util.List;
import net.bytebuddy.jar.asm.MethodVisitor;
import net.bytebuddy.jar.asm.Opcodes;

/** A call in Kafka's code that is preceded by one of Hooks. */
enum CallSite {
    UNLOCK("java/util/concurrent/locks/Lock", "unlock", "beforeUnlock",
        "(Ljava/util/concurrent/locks/Lock;Ljava/lang/Object;)V", true),
    AWAIT("java/util/concurrent/CompletableFuture", "whenComplete", "awaiting",
        "(Ljava/util/function/BiConsumer;Ljava/lang/Object;)Ljava/util/function/BiConsumer;", false),
    WRITE("org/apache/kafka/server/share/persister/Persister", "writeState", "beforeWrite",
        "(Ljava/lang/Object;Ljava/lang/Object;)V", true),
    NUMBERS("kafka/server/share/SharePartition", "startOffset", "beforeNumbers", "(Ljava/lang/Object;)V", false);

    private static final String HOOKS = Hooks.class.getName().replace('.', '/');

    private final String owner;
    private final String name;
    private final String hook;
    private final String descriptor;
    private final boolean keepsTop;

    CallSite(String owner, String name, String hook, String descriptor, boolean keepsTop) {
        this.owner = owner;
        this.name = name;
        this.hook = hook;
        this.descriptor = descriptor;
        this.keepsTop = keepsTop;
    }

    /** Javac writes a finally block once for each way out of it; other calls occur once. */
    boolean isExpected(int count) {
        return this == UNLOCK ? count > 0 : count == 1;
    }

    static CallSite of(List<CallSite> among, String owner, String name) {
        for (CallSite site : among) {
            if (site.owner.equals(owner) && site.name.equals(name)) {
                return site;
            }
        }
        return null;
    }

    /** The hook gets a copy of the topmost value, or the value itself to give it back, and this. */
    void insert(MethodVisitor out) {
        if (keepsTop) {
            out.visitInsn(Opcodes.DUP);
        }
        out.visitVarInsn(Opcodes.ALOAD, 0);
        out.visitMethodInsn(Opcodes.INVOKESTATIC, HOOKS, hook, descriptor, false);
    }
}
