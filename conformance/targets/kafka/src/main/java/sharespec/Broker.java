package sharespec;

import java.io.IOException;
import java.io.PrintStream;
import kafka.Kafka;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;

/**
 * Formats a storage, unless it is formatted, and runs Apache Kafka on it until whoever started it closes
 * its input. Arguments: the settings, and perhaps the id of the cluster that the node belongs to.
 */
public final class Broker {
    private Broker() { }

    public static void main(String[] args) {
        Thread watch = new Thread(Broker::endWithInput, "input");
        watch.setDaemon(true);
        watch.start();
        String cluster = args.length > 1 ? args[1] : Uuid.randomUuid().toString();
        String[] format = {"format", "--ignore-formatted", "--cluster-id", cluster, "--config", args[0]};
        int status = StorageTool.execute(format, new PrintStream(System.err));
        if (status != 0) {
            Runtime.getRuntime().halt(status);
        }
        Kafka.main(new String[] {args[0]});
    }

    private static void endWithInput() {
        try {
            while (System.in.read() >= 0) { }
        } catch (IOException gone) {
            System.err.println(gone);
        }
        Runtime.getRuntime().halt(0);
    }
}
