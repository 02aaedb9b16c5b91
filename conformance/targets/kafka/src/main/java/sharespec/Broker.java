package sharespec;

import java.io.IOException;
import java.io.PrintStream;
import kafka.Kafka;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;

/** Formats a storage and runs Apache Kafka on it until whoever started it closes its input. */
public final class Broker {
    private Broker() { }

    public static void main(String[] args) {
        Thread watch = new Thread(Broker::endWithInput, "input");
        watch.setDaemon(true);
        watch.start();
        String[] format = {"format", "--cluster-id", Uuid.randomUuid().toString(), "--config", args[0]};
        int status = StorageTool.execute(format, new PrintStream(System.err));
        if (status != 0) {
            Runtime.getRuntime().halt(status);
        }
        Kafka.main(args);
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
