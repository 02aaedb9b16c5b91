package sharespec.recorder;

import java.lang.reflect.Method;

/** Writes lines to the broker's own log, or to standard error where it has none. */
final class Log {
    private static volatile Object logger;
    private static volatile Method warn;

    private Log() { }

    /** From now on use slf4j as this class loader sees it; called when the broker has set it up. */
    static void through(ClassLoader loader) {
        try {
            Class<?> factory = Class.forName("org.slf4j.LoggerFactory", true, loader);
            Class<?> type = Class.forName("org.slf4j.Logger", false, loader);
            Method method = type.getMethod("warn", String.class);
            logger = factory.getMethod("getLogger", String.class).invoke(null, "sharespec.recorder");
            warn = method;
        } catch (ReflectiveOperationException | LinkageError none) {
            // Standard error stays.
        }
    }

    static void line(String text) {
        String whole = "sharespec recorder: " + text;
        Method method = warn;
        if (method != null) {
            try {
                method.invoke(logger, whole);
                return;
            } catch (ReflectiveOperationException | RuntimeException broken) {
                warn = null;
            }
        }
        System.err.println(whole);
    }
}
