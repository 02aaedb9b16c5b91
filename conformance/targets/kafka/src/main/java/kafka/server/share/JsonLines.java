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
import java.util.Properties;

/** Speaks the kit's protocol: a JSON object a line in, and one out for each, until goodbye. */
final class JsonLines {
    static final ObjectMapper JSON = new ObjectMapper();

    private JsonLines() { }

    /** What answers a request; what it throws is answered as an error. */
    interface Handler {
        ObjectNode answer(JsonNode request) throws Exception;
    }

    static void serve(Handler handler) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        BufferedWriter answers = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8));
        String line;
        boolean ends = false;
        while (!ends && (line = lines.readLine()) != null) {
            JsonNode request = JSON.readTree(line);
            ends = request.path("do").asText().equals("goodbye");
            ObjectNode reply;
            try {
                reply = ends ? JSON.createObjectNode() : handler.answer(request);
            } catch (Exception | AssertionError error) {
                reply = JSON.createObjectNode().put("error", error.toString());
            }
            answers.write(JSON.writeValueAsString(reply));
            answers.newLine();
            answers.flush();
        }
    }

    /** What a driver says of itself, without its capabilities. */
    static ObjectNode hello(String name) throws Exception {
        Properties properties = new Properties();
        try (var stream = JsonLines.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(stream);
        }
        return JSON.createObjectNode().put("protocol", 1).put("name", name)
            .put("version", properties.getProperty("version")).put("profile", "kafka");
    }
}
