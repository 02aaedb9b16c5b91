package sharespec.recorder;

import java.lang.management.ManagementFactory;
import java.util.List;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** The first line of each file: what recorded, where, and which part of it. */
final class Header {
    static final String VERSION = "1";

    private volatile List<String> hooks;
    private volatile ClassLoader loader;
    private boolean prepared;
    private String kafka;
    private String broker;

    Header() { }

    /** Of one of several brokers in this process, whose class was woven already. */
    Header(Header woven, int broker) {
        hooks = woven.hooks;
        this.broker = Integer.toString(broker);
    }

    /** SharePartition was woven. */
    void woven(ClassLoader through, List<String> table) {
        loader = through;
        hooks = table;
    }

    boolean isWoven() {
        return hooks != null;
    }

    /** Once SharePartition is woven: find Kafka, its log, and what it says of itself. */
    void prepare(Recorder recorder) {
        if (prepared || !isWoven()) {
            return;
        }
        prepared = true;
        Log.through(loader);
        try {
            Kafka.find(loader);
        } catch (Throwable missing) {
            recorder.stop("Kafka is not as expected: " + missing);
            return;
        }
        Log.line("records share-partitions, " + recorder.options());
    }

    /** The broker tells its version and id once it has started. */
    private void ask() {
        try {
            MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
            for (ObjectName name : beans.queryNames(new ObjectName("kafka.server:type=app-info,id=*"), null)) {
                broker = name.getKeyProperty("id");
                kafka = String.valueOf(beans.getAttribute(name, "Version"));
            }
        } catch (Exception unknown) {
            // The header says null.
        }
    }

    String line(Recorder recorder) {
        ask();
        Options options = recorder.options();
        Json json = new Json().clear().open('{').key("recorder").open('{').key("version").text(VERSION)
            .key("kafka").text(kafka).key("broker").text(broker).key("started_ms").number(recorder.startedMs())
            .key("hooks").open('[');
        hooks.forEach(hook -> json.next().text(hook));
        return json.close(']').key("sampling").text(Double.toString(options.sample))
            .key("filters").text(options.key == null ? options.filters() : "hashed")
            .key("records_every").number(options.records).key("checkpoint_every").number(options.checkpoint)
            .close('}').close('}').toString();
    }
}
