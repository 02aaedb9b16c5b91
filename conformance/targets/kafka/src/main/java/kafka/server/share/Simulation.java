package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import java.io.Writer;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

/**
 * Runs clusters of Kafka's own classes, one after the other: a line in asks for a run, as
 * {@code {"do": "run", "seed": 7, "without": [2], "history": "FILE"}}, and a line out says what came of
 * it. The events of a run go to its file, compressed; with {@code "traces": "FOLDER"} the traces of its
 * leaders go there. {@code "plant"} names a fault of {@link Plants}, and {@code "masked"} hides those that are known;
 * with {@code "events": [5, 7]} clients do only these of what they do in that run,
 * which the answer tells: how many there are, and which were done; all of them if none is wanted.
 */
public final class Simulation {
    /** What is asked for, besides where it goes and what is left out of it; and the run that it gave, with all events. */
    private static ObjectNode noted;
    private static Script whole;

    private static final Field JITTER = Hidden.field(Thread.class, "threadLocalRandomSeed");

    private Simulation() { }

    public static void main(String[] args) throws Exception {
        fewMetrics();
        JsonLines.serve(Simulation::run);
    }

    private static ObjectNode run(JsonNode request) throws Exception {
        if (!request.path("events").isArray()) {
            return run(request, Path.of(request.get("history").asText()), new Script(false));
        }
        ObjectNode asked = request.<ObjectNode>deepCopy().without(List.of("events", "history", "traces"));
        Set<Integer> kept = new HashSet<>();
        request.get("events").forEach(number -> kept.add(number.asInt()));
        if (!asked.equals(noted)) {
            noted = null;
            whole = new Script(true);
            ObjectNode reply = run(asked, null, whole);
            if (reply.has("error")) {
                return reply;
            }
            noted = asked;
        }
        Script script = new Script(whole, kept);
        ObjectNode reply = run(request, Path.of(request.get("history").asText()), script);
        reply.put("events", script.size()).set("done", (kept.isEmpty() ? whole : script).done());
        return reply;
    }

    private static ObjectNode run(JsonNode request, Path file, Script script) throws Exception {
        long seed = request.get("seed").asLong();
        Set<Integer> without = new HashSet<>();
        request.path("without").forEach(number -> without.add(number.asInt()));
        jitter(seed);
        Faults faults = new Faults(seed);
        ObjectNode reply = JsonLines.JSON.createObjectNode().put("seed", seed);
        try (Writer history = file == null ? Writer.nullWriter() : Files.newBufferedWriter(file);
                Cluster cluster = new Cluster(seed, "s" + seed, history, request.path("plant").asText(),
                    request.path("masked").asBoolean(), script);
                Traces traces = Traces.of(request.path("traces"), cluster)) {
            cluster.run(faults, without);
            return reply.put("faults", faults.drawn());
        } catch (RuntimeException | Error wrong) {
            return reply.put("error", wrong.toString());
        }
    }

    /** Nobody reads histograms and meters: all are one, of a plain sample, as one that fades is a fifth of a run's time. */
    private static void fewMetrics() {
        MetricName name = new MetricName("simulated", "all", "all");
        Histogram histogram = new MetricsRegistry().newHistogram(name, false);
        Meter meter = new MetricsRegistry().newMeter(name, "events", TimeUnit.SECONDS);
        Hidden.set(KafkaYammerMetrics.INSTANCE, "metricsRegistry", new MetricsRegistry() {
            @Override
            public Histogram newHistogram(MetricName of, boolean fades) {
                return histogram;
            }

            @Override
            public Meter newMeter(MetricName of, String events, TimeUnit unit) {
                return meter;
            }
        });
    }

    /** Kafka's back-off draws from its thread's random numbers: they begin anew with each run. */
    static void jitter(long seed) {
        ThreadLocalRandom.current();
        try {
            JITTER.setLong(Thread.currentThread(), seed);
        } catch (IllegalAccessException wrong) {
            throw new IllegalStateException(wrong);
        }
    }

    static long jitter() {
        try {
            return JITTER.getLong(Thread.currentThread());
        } catch (IllegalAccessException wrong) {
            throw new IllegalStateException(wrong);
        }
    }
}
