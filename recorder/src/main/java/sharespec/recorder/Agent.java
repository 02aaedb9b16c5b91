package sharespec.recorder;

import java.lang.instrument.Instrumentation;
import java.lang.management.ManagementFactory;
import javax.management.ObjectName;

/** Where the JVM starts the recorder: with the broker, or on one that runs. */
public final class Agent {
    private static Recorder running;

    private Agent() { }

    public static void premain(String options, Instrumentation instrumentation) {
        start(options, instrumentation, false);
    }

    public static void agentmain(String options, Instrumentation instrumentation) {
        start(options, instrumentation, true);
    }

    private static synchronized void start(String text, Instrumentation instrumentation, boolean late) {
        try {
            if (running != null) {
                again(text);
                return;
            }
            boolean runs = Runs.OPTION.equals(text);
            Recorder recorder = new Recorder(new Options(runs ? "" : text), late);
            Header header = new Header();
            instrumentation.addTransformer(new Weaver(recorder, header), true);
            weaveLoaded(instrumentation);
            running = recorder;
            if (runs) {
                Runs.woven(header);
                return;
            }
            Writer writer = new Writer(recorder, header);
            Hooks.use(source -> recorder);
            writer.start();
            ManagementFactory.getPlatformMBeanServer().registerMBean(
                new Control(recorder, writer), new ObjectName("sharespec:type=Recorder"));
        } catch (Throwable wrong) {
            Log.line("not recording, the broker runs on: " + wrong.getMessage());
        }
    }

    private static void weaveLoaded(Instrumentation instrumentation) throws Exception {
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            if (loaded.getName().equals(Weaver.CLASS)) {
                instrumentation.retransformClasses(loaded);
            }
        }
    }

    /** Attached once more: the options can switch it. */
    private static void again(String text) {
        if ("on".equals(text) || "off".equals(text)) {
            running.switchTo("on".equals(text));
        } else {
            Log.line("is here already; its options stay. Attach with 'on' or 'off' to switch it");
        }
    }
}
