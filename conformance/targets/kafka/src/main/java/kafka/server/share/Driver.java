package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** Speaks the kit's protocol: a JSON object a line in, and one out for each. */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Driver() { }

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter answers = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8));
        Target target = new Target();
        String line;
        while ((line = lines.readLine()) != null) {
            JsonNode request = JSON.readTree(line);
            String asked = request.path("do").asText();
            ObjectNode reply;
            try {
                switch (asked) {
                    case "hello" -> reply = hello();
                    case "reset" -> {
                        target.close();
                        target = new Target();
                        reply = JSON.createObjectNode();
                    }
                    case "apply" -> {
                        List<String> statuses = new ArrayList<>();
                        request.path("answers").forEach(status -> statuses.add(status.asText()));
                        reply = target.apply(request.get("operation"), request.get("seq").asInt(), statuses);
                    }
                    case "goodbye" -> reply = JSON.createObjectNode();
                    default -> throw new IllegalArgumentException("unknown request " + asked);
                }
            } catch (Exception | AssertionError error) {
                reply = JSON.createObjectNode().put("error", error.toString());
            }
            answers.write(JSON.writeValueAsString(reply));
            answers.newLine();
            answers.flush();
            if (asked.equals("goodbye")) {
                return;
            }
        }
    }

    private static String version() throws Exception {
        Properties properties = new Properties();
        try (var stream = Driver.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(stream);
        }
        return properties.getProperty("version");
    }

    private static ObjectNode hello() throws Exception {
        ObjectNode reply = JSON.createObjectNode();
        reply.put("protocol", 1).put("name", "Apache Kafka SharePartition")
            .put("version", version()).put("profile", "kafka");
        ObjectNode capabilities = reply.putObject("capabilities");
        capabilities.put("validates_requests", false).put("pending_writes", true)
            .putArray("write_errors").add("COORDINATOR_NOT_AVAILABLE");
        Release.tellCapabilities(capabilities);
        return reply;
    }
}
