package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;

/** Drives a group coordinator and what it needs, for one share group. */
public final class GroupDriver {
    private GroupWorld world;

    private GroupDriver() { }

    public static void main(String[] args) throws Exception {
        JsonLines.serve(new GroupDriver()::answer);
    }

    private ObjectNode answer(JsonNode request) throws Exception {
        switch (request.path("do").asText()) {
            case "hello" -> {
                ObjectNode reply = JsonLines.hello("Apache Kafka GroupCoordinatorService");
                boolean offsets = Assembled.has(GroupCoordinatorService.class, "alterShareGroupOffsets");
                reply.putObject("capabilities").put("initializes", offsets).put("offsets", offsets).put("configures", true)
                    .put("waits", offsets);
                return reply;
            }
            case "reset" -> {
                world = new GroupWorld(request.get("max_members").asInt(), request.get("session_ms").asInt(),
                    request.get("heartbeat_ms").asInt());
                return JsonLines.JSON.createObjectNode();
            }
            case "apply" -> {
                return world.apply(request.get("operation"), request.path("answers"));
            }
            default -> throw new IllegalArgumentException("unknown request " + request);
        }
    }
}
