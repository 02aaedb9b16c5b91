import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A driver for Apache Kafka's share consumer. */
public class KafkaShare extends ShareDriver {
    private static final byte RENEW = 4;

    private KafkaShareConsumer<String, String> consumer;
    private final Map<Offset, ConsumerRecord<String, String>> polled = new HashMap<>();

    public static void main(String[] args) throws IOException {
        new KafkaShare().drive();
    }

    @Override
    void hello(ObjectNode answer) throws IOException {
        Properties properties = new Properties();
        try (var stream = KafkaShareConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(stream);
        }
        answer.put("name", "Apache Kafka " + properties.getProperty("version") + ", KafkaShareConsumer");
        answer.put("callbacks", true);
        answer.put("throws", true);
        answer.put("resubscribes", true);
        answer.put("deserializes", true);
        answer.put("renews", Stream.of(AcknowledgeType.values()).anyMatch(type -> type.id == RENEW));
        ArrayNode modes = answer.putArray("acquire_modes").add("batch_optimized");
        if (ConsumerConfig.configNames().contains("share.acquire.mode")) {
            modes.add("record_limit");
        }
    }

    @Override
    void open(JsonNode command) {
        polled.clear();
        throwing = false;
        consumer = new KafkaShareConsumer<>(Map.of(
            "bootstrap.servers", command.get("bootstrap").asText(),
            "group.id", command.get("group").asText(),
            "share.acknowledgement.mode", command.get("mode").asText(),
            "share.acquire.mode", command.get("acquire_mode").asText(),
            "max.poll.records", command.get("max_poll_records").asInt(),
            "key.deserializer", StringDeserializer.class,
            "value.deserializer", Refusing.class));
        consumer.setAcknowledgementCommitCallback(this::note);
    }

    private void note(Map<TopicIdPartition, Set<Long>> offsets, Exception error) {
        offsets.forEach((partition, known) -> complete(partition.topic(), partition.partition(), known, error));
        if (throwing) {
            throwing = false;
            throw new IllegalStateException("from the callback");
        }
    }

    @Override
    void subscribe(List<String> topics) {
        consumer.subscribe(topics);
    }

    @Override
    void poll(long timeoutMs, ArrayNode records) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(timeoutMs))) {
            polled.put(Offset.of(record), record);
            deliver(records, record);
        }
    }

    @Override
    void acknowledge(Offset at, int type) {
        consumer.acknowledge(polled.get(at), AcknowledgeType.forId((byte) type));
    }

    @Override
    void commit(long timeoutMs, ArrayNode results) {
        consumer.commitSync(Duration.ofMillis(timeoutMs)).forEach((partition, error) ->
            results.add(outcome(partition.topic(), partition.partition(), error.orElse(null))));
    }

    @Override
    void commitAsync() {
        consumer.commitAsync();
    }

    @Override
    void close() {
        consumer.close();
    }
}
