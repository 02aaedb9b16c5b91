package kafka.server.share;

import java.lang.reflect.Field;
import sun.misc.Unsafe;

/** What Kafka's classes keep to themselves: their fields, and objects whose constructors need too much. */
public final class Hidden {
    private Hidden() { }

    static Field field(Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException wrong) {
            throw new IllegalStateException(wrong);
        }
    }

    static Object of(Object owner, String name) {
        try {
            return field(owner.getClass(), name).get(owner);
        } catch (IllegalAccessException wrong) {
            throw new IllegalStateException(wrong);
        }
    }

    public static void set(Object owner, String name, Object value) {
        try {
            field(owner.getClass(), name).set(owner, value);
        } catch (IllegalAccessException wrong) {
            throw new IllegalStateException(wrong);
        }
    }

    /** Returns an object whose constructor does not run. */
    public static <T> T made(Class<T> type) {
        try {
            return type.cast(((Unsafe) field(Unsafe.class, "theUnsafe").get(null)).allocateInstance(type));
        } catch (ReflectiveOperationException wrong) {
            throw new IllegalStateException(wrong);
        }
    }
}
