package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

/**
 * Runs clusters of Kafka's own classes, one after the other: a line in asks for a run, as
 * {@code {"do": "run", "seed": 7, "without": [2], "history": "FILE"}}, and a line out says what came of
 * it. The events of a run go to its file, compressed; with {@code "traces": "FOLDER"} the traces of its
 * leaders go there. {@code "plant"} names a fault of {@link Plants}, and {@code "masked"} hides those that are known.
 */
public final class Simulation {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Simulation() { }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        fewMetrics();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = lines.readLine()) != null) {
            JsonNode request = JSON.readTree(line);
            if (request.path("do").asText().equals("goodbye")) {
                out.println("{}");
                out.flush();
                return;
            }
            out.println(JSON.writeValueAsString(run(request)));
            out.flush();
        }
    }

    private static ObjectNode run(JsonNode request) throws Exception {
        long seed = request.get("seed").asLong();
        Set<Integer> without = new HashSet<>();
        request.path("without").forEach(number -> without.add(number.asInt()));
        jitter(seed);
        Faults faults = new Faults(seed);
        ObjectNode reply = JSON.createObjectNode().put("seed", seed);
        try (BufferedWriter history = Files.newBufferedWriter(Path.of(request.get("history").asText()));
                Cluster cluster = new Cluster(seed, "s" + seed, history, request.path("plant").asText(),
                    request.path("masked").asBoolean());
                Traces traces = Traces.of(request.path("traces"), cluster)) {
            cluster.run(faults, without);
            return reply.put("faults", faults.drawn());
        } catch (RuntimeException | Error wrong) {
            return reply.put("error", wrong.toString());
        }
    }

    /** Nobody reads histograms and meters: all are one, of a plain sample, as one that fades is a fifth of a run's time. */
    private static void fewMetrics() throws ReflectiveOperationException {
        MetricName name = new MetricName("simulated", "all", "all");
        Histogram histogram = new MetricsRegistry().newHistogram(name, false);
        Meter meter = new MetricsRegistry().newMeter(name, "events", TimeUnit.SECONDS);
        var field = KafkaYammerMetrics.class.getDeclaredField("metricsRegistry");
        field.setAccessible(true);
        field.set(KafkaYammerMetrics.INSTANCE, new MetricsRegistry() {
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
    private static void jitter(long seed) throws ReflectiveOperationException {
        ThreadLocalRandom.current();
        var field = Thread.class.getDeclaredField("threadLocalRandomSeed");
        field.setAccessible(true);
        field.setLong(Thread.currentThread(), seed);
    }
}
