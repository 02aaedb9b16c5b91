package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;

/** Drives a share-partition. */
public final class Driver {
    private Target target = new Target();

    private Driver() { }

    public static void main(String[] args) throws Exception {
        JsonLines.serve(new Driver()::answer);
    }

    private ObjectNode answer(JsonNode request) throws Exception {
        String asked = request.path("do").asText();
        switch (asked) {
            case "hello" -> {
                return hello();
            }
            case "reset" -> {
                target.close();
                target = new Target();
                return JsonLines.JSON.createObjectNode();
            }
            case "apply" -> {
                List<String> statuses = new ArrayList<>();
                request.path("answers").forEach(status -> statuses.add(status.asText()));
                return target.apply(request.get("operation"), request.get("seq").asInt(), statuses);
            }
            default -> throw new IllegalArgumentException("unknown request " + asked);
        }
    }

    private static ObjectNode hello() throws Exception {
        ObjectNode reply = JsonLines.hello("Apache Kafka SharePartition");
        ObjectNode capabilities = reply.putObject("capabilities");
        capabilities.put("validates_requests", false).put("pending_writes", true)
            .putArray("write_errors").add("COORDINATOR_NOT_AVAILABLE");
        Release.tellCapabilities(capabilities);
        return reply;
    }
}
