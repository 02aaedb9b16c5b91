package sharespec.recorder;

import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import kafka.Kafka;
import kafka.tools.StorageTool;

/**
 * Formats a storage, unless it is formatted, and runs Apache Kafka on it: until a line says that it
 * shall stop in order, or until whoever started it is gone.
 */
public final class Broker {
    private static final String CLUSTER = "4L6g3nShT-eMCtK--X86sw";

    private Broker() { }

    public static void main(String[] args) {
        Thread watch = new Thread(Broker::endWithInput, "input");
        watch.setDaemon(true);
        watch.start();
        List<String> format = new ArrayList<>(
            List.of("format", "--ignore-formatted", "--cluster-id", CLUSTER, "--config", args[0]));
        for (int at = 1; at < args.length; at++) {
            format.addAll(List.of("--feature", args[at]));
        }
        int status = StorageTool.execute(format.toArray(String[]::new), new PrintStream(System.err));
        if (status != 0) {
            Runtime.getRuntime().halt(status);
        }
        Kafka.main(new String[] {args[0]});
    }

    private static void endWithInput() {
        try {
            for (int letter = System.in.read(); letter >= 0; letter = System.in.read()) {
                if (letter == '\n') {
                    System.exit(0);
                }
            }
        } catch (IOException gone) {
            System.err.println(gone);
        }
        Runtime.getRuntime().halt(0);
    }
}
