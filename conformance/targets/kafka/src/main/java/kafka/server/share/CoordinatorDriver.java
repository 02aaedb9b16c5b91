package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntSupplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.share.ShareCoordinatorConfig;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.coordinator.share.ShareCoordinatorService;
import org.apache.kafka.coordinator.share.ShareCoordinatorShard;
import org.apache.kafka.coordinator.share.metrics.ShareCoordinatorMetrics;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Drives a share coordinator's shard. The kit holds the state topic: what the shard appends goes to it, and a
 * new shard is given what is left there. Requests, responses and records are in Kafka's own JSON.
 * Methods are looked up by name, so that one source serves every release; a missing one is no capability.
 */
public final class CoordinatorDriver {
    private static final String RECORDS = "org.apache.kafka.coordinator.share.generated.";
    private static final List<String> KINDS = List.of("ShareSnapshot", "ShareUpdate");
    private static final ShareCoordinatorRecordSerde SERDE = new ShareCoordinatorRecordSerde();
    private static final Map<String, String> METHODS = Map.of(
        "InitializeShareGroupState", "initializeState",
        "ReadShareGroupState", "readStateAndMaybeUpdateLeaderEpoch",
        "WriteShareGroupState", "writeState",
        "ReadShareGroupStateSummary", "readStateSummary",
        "DeleteShareGroupState", "deleteState");

    private final Map<Uuid, Integer> topics = new HashMap<>();
    private VirtualTimer clock;
    private ShareCoordinatorConfig config;
    private ShareCoordinatorMetrics metrics;
    private ShareCoordinatorService service;
    private ShareCoordinatorShard shard;

    private CoordinatorDriver() { }

    public static void main(String[] args) throws Exception {
        JsonLines.serve(new CoordinatorDriver()::answer);
    }

    private ObjectNode answer(JsonNode request) throws Exception {
        ObjectNode reply = JsonLines.JSON.createObjectNode();
        if (request.has("now")) {
            clock.advanceClock(request.get("now").asLong() - clock.milliseconds());
        }
        switch (request.path("do").asText()) {
            case "hello" -> reply = hello();
            case "reset" -> reset(request);
            case "recover" -> {
                shard = newShard();
                long offset = request.get("offset").asLong();
                for (JsonNode record : request.get("records")) {
                    replay(offset++, read(record));
                }
                tellTopics();
            }
            case "request" -> request(request, reply);
            case "snapshots" -> append(call("snapshotColdPartitions"), request, reply);
            case "forget" -> {
                Set<Uuid> gone = new HashSet<>();
                request.get("topics").forEach(topic -> gone.add(Uuid.fromString(topic.asText())));
                topics.keySet().removeAll(gone);
                tellTopics();
                append(call("maybeCleanupShareState", gone), request, reply);
            }
            case "redundant" -> {
                Optional<?> offset = (Optional<?>) shard.lastRedundantOffset().response();
                reply.put("offset", (Long) offset.orElse(null));
            }
            case "find" -> {
                // As KafkaApis does for FindCoordinator.
                SharePartitionKey.validate(request.get("key").asText());
                SharePartitionKey key = SharePartitionKey.getInstance(request.get("key").asText());
                reply.put("partition", service.partitionFor(key));
            }
            default -> throw new IllegalArgumentException("unknown request " + request.path("do").asText());
        }
        return reply;
    }

    private static ObjectNode hello() throws Exception {
        ObjectNode reply = JsonLines.hello("Apache Kafka ShareCoordinatorShard");
        boolean counts = highest("ReadShareGroupStateSummaryResponseData") > 0;
        reply.putObject("capabilities")
            .put("initialize", has("initializeState"))
            .put("summary", has("readStateSummary"))
            .put("delete", has("deleteState"))
            .put("cold_snapshots", has("snapshotColdPartitions"))
            .put("deleted_topics", has("maybeCleanupShareState"))
            .put("delivery_complete_count", counts)
            .put("validates_epochs", true);
        return reply;
    }

    private void reset(JsonNode request) throws Exception {
        topics.clear();
        request.get("topics").fields().forEachRemaining(topic ->
            topics.put(Uuid.fromString(topic.getKey()), topic.getValue().asInt()));
        clock = new VirtualTimer(0);
        config = new ShareCoordinatorConfig(new AbstractConfig(ShareCoordinatorConfig.CONFIG_DEF, Map.of(
            "share.coordinator.snapshot.update.records.per.snapshot", request.get("updates_per_snapshot").asInt(),
            "share.coordinator.cold.partition.snapshot.interval.ms", request.get("snapshot_interval_ms").asInt(),
            "share.coordinator.state.topic.num.partitions", request.get("partitions").asInt()), false));
        if (metrics != null) {
            metrics.close();
        }
        metrics = new ShareCoordinatorMetrics(new Metrics());
        service = newService();
        service.startup((IntSupplier) () -> request.get("partitions").asInt());
        shard = newShard();
        tellTopics();
    }

    /** It is asked only which partition has a key, for which it needs no runtime. */
    private ShareCoordinatorService newService() throws Exception {
        Constructor<?> maker = ShareCoordinatorService.class.getConstructors()[0];
        List<Object> given = List.of(new LogContext(), config, clock, metrics);
        Object[] arguments = Arrays.stream(maker.getParameterTypes())
            .map(type -> given.stream().filter(type::isInstance).findFirst().orElse(null)).toArray();
        return (ShareCoordinatorService) maker.newInstance(arguments);
    }

    private ShareCoordinatorShard newShard() {
        return new ShareCoordinatorShard.Builder(config).withSnapshotRegistry(new SnapshotRegistry(new LogContext()))
            .withTime(clock).withCoordinatorMetrics(metrics).withTopicPartition(new TopicPartition("__share_group_state", 0)).build();
    }

    private void tellTopics() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        topics.forEach((id, partitions) -> {
            delta.replay(new TopicRecord().setName(id.toString()).setTopicId(id));
            for (int partition = 0; partition < partitions; partition++) {
                delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(partition).setReplicas(List.of(0))
                    .setIsr(List.of(0)).setLeader(0).setDirectories(List.of(Uuid.ZERO_UUID)));
            }
        });
        Assembled.update(ShareCoordinatorShard.class, shard, delta.apply(MetadataProvenance.EMPTY), delta);
    }

    private void request(JsonNode request, ObjectNode reply) throws Exception {
        String api = request.get("api").asText();
        String message = "org.apache.kafka.common.message." + api;
        Object asked = fromJson(message + "RequestData", request.get("body"), highest(api + "RequestData"));
        CoordinatorResult<?, ?> result = call(METHODS.get(api), asked);
        reply.set("response", toJson(result.response(), highest(api + "ResponseData")));
        append(result, request, reply);
    }

    /** As the runtime does: the shard replays what it appends, at the offsets that the topic gives it. */
    private void append(CoordinatorResult<?, ?> result, JsonNode request, ObjectNode reply) throws Exception {
        long offset = request.get("offset").asLong();
        ArrayNode written = reply.putArray("records");
        for (Object each : result.records()) {
            CoordinatorRecord record = (CoordinatorRecord) each;
            write(record, written.addObject());
            replay(offset++, record);
        }
    }

    private void replay(long offset, CoordinatorRecord record) {
        shard.replay(offset, -1, (short) -1, record);
    }

    private static void write(CoordinatorRecord record, ObjectNode written) throws Exception {
        Object typed = record.key();
        ApiMessage key = typed instanceof ApiMessageAndVersion versioned ? versioned.message() : (ApiMessage) typed;
        written.putObject("key").put("type", KINDS.indexOf(key.getClass().getSimpleName().replace("Key", "")))
            .set("data", toJson(key, key.lowestSupportedVersion()));
        if (record.value() == null) {
            written.putNull("value");
        } else {
            written.putObject("value").put("version", 0).set("data", toJson(record.value().message(), (short) 0));
        }
    }

    private static CoordinatorRecord read(JsonNode record) throws Exception {
        short type = (short) record.get("key").get("type").asInt();
        String kind = RECORDS + KINDS.get(type);
        short version = Class.forName(kind + "Key").getField("LOWEST_SUPPORTED_VERSION").getShort(null);
        Message key = (Message) fromJson(kind + "Key", record.get("key").get("data"), version);
        JsonNode value = record.get("value");
        return SERDE.deserialize(prefixed(type, key, version), value.isNull() ? null
            : prefixed((short) 0, (Message) fromJson(kind + "Value", value.get("data"), (short) 0), (short) 0));
    }

    private static ByteBuffer prefixed(short prefix, Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer bytes = ByteBuffer.allocate(Short.BYTES + message.size(cache, version)).putShort(prefix);
        message.write(new ByteBufferAccessor(bytes), cache, version);
        return bytes.flip();
    }

    private static Object fromJson(String type, JsonNode json, short version) throws Exception {
        return Class.forName(type + "JsonConverter").getMethod("read", JsonNode.class, short.class).invoke(null, json, version);
    }

    private static JsonNode toJson(Object message, short version) throws Exception {
        return (JsonNode) Class.forName(message.getClass().getName() + "JsonConverter")
            .getMethod("write", message.getClass(), short.class).invoke(null, message, version);
    }

    private static short highest(String message) throws Exception {
        return Class.forName("org.apache.kafka.common.message." + message).getField("HIGHEST_SUPPORTED_VERSION").getShort(null);
    }

    private static boolean has(String name) {
        return Assembled.has(ShareCoordinatorShard.class, name);
    }

    private CoordinatorResult<?, ?> call(String name, Object... arguments) {
        return (CoordinatorResult<?, ?>) Assembled.call(ShareCoordinatorShard.class, shard, name, arguments);
    }
}
