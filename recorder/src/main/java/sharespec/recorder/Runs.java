package sharespec.recorder;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;

/**
 * Records a simulation with several brokers in one process, run after run, on its clock: with the
 * agent's option {@code runs}. Each broker of a run has a recorder and files of its own.
 *
 * <p>Nothing is written before the run ends, and then by the thread that ends it: what is written does
 * not depend on how fast threads are. Public, as the simulation calls it.
 */
public final class Runs {
    static final String OPTION = "runs";

    /** The state of each record with each row; no checkpoints, as nothing is lost: a whole run may wait. */
    private static final String OPTIONS = "records=1,checkpoint=0,checkpoint_s=0,min_free=0,queue=10m,memory=4g";

    private static Header woven;
    private static Map<Integer, Writer> writers = Map.of();

    private Runs() { }

    static void woven(Header header) {
        woven = header;
    }

    /**
     * Begins a run. The clock is in ms, as Kafka's timers see it; {@code brokerOf} tells of which
     * broker a SharePartition is, and throws nothing. Files go to a folder for each broker.
     */
    public static synchronized void begin(Path folder, LongSupplier clock, ToIntFunction<Object> brokerOf)
            throws ClassNotFoundException {
        Class.forName(Weaver.CLASS);
        if (woven == null || !woven.isWoven()) {
            throw new IllegalStateException(Weaver.CLASS + " was not woven");
        }
        Map<Integer, Recorder> recorders = new TreeMap<>();
        Map<Integer, Writer> made = new TreeMap<>();
        writers = made;
        Hooks.use(source -> recorders.computeIfAbsent(brokerOf.applyAsInt(source), broker -> {
            Options options = new Options(OPTIONS, folder.resolve("broker-" + broker));
            Recorder recorder = new Recorder(options, false, clock, clock.getAsLong());
            made.put(broker, new Writer(recorder, new Header(woven, broker)));
            return recorder;
        }));
    }

    /** Ends the run: all of it is written. */
    public static synchronized void end() {
        Hooks.use(source -> null);
        writers.values().forEach(Writer::end);
        writers = Map.of();
    }
}
