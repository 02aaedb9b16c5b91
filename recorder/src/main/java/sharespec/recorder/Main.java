package sharespec.recorder;

import com.sun.tools.attach.VirtualMachine;
import java.nio.file.Path;

/** Attaches the recorder to a broker that runs: {@code java -jar sharespec-recorder.jar attach PID [options]}. */
public final class Main {
    private static final int USAGE = 64;
    private static final int FAILED = 1;

    private Main() { }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 2 || arguments.length > 3 || !arguments[0].equals("attach")) {
            System.err.println("usage: java -jar sharespec-recorder.jar attach PID [options | on | off]");
            System.exit(USAGE);
        }
        String options = arguments.length == 3 ? arguments[2] : "";
        if (!options.equals("on") && !options.equals("off")) {
            new Options(options);
        }
        Path jar = Path.of(Main.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try {
            VirtualMachine broker = VirtualMachine.attach(arguments[1]);
            broker.loadAgent(jar.toAbsolutePath().toString(), options);
            broker.detach();
        } catch (Exception refused) {
            System.err.println("could not attach to " + arguments[1] + ": " + refused);
            System.exit(FAILED);
        }
        System.out.println("attached to " + arguments[1] + "; its log tells whether it records");
    }
}
