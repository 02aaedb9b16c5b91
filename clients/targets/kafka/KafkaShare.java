import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A driver for Apache Kafka's share consumer; docs/verify-client.md has the commands. */
public class KafkaShare {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final byte RENEW = 4;

    private KafkaShareConsumer<String, String> consumer;
    private final Map<String, ConsumerRecord<String, String>> polled = new HashMap<>();
    private final List<ObjectNode> completed = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        KafkaShare driver = new KafkaShare();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode command = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                driver.carryOut(command, answer);
            } catch (Exception error) {
                answer.put("error", named(error));
            }
            ArrayNode said = answer.putArray("completed");
            driver.completed.forEach(said::add);
            driver.completed.clear();
            out.println(JSON.writeValueAsString(answer));
            out.flush();
            if (command.get("do").asText().equals("goodbye")) {
                return;
            }
        }
    }

    private void carryOut(JsonNode command, ObjectNode answer) throws IOException {
        switch (command.get("do").asText()) {
            case "hello" -> hello(answer);
            case "open" -> open(command);
            case "subscribe" -> {
                List<String> topics = new ArrayList<>();
                command.get("topics").forEach(topic -> topics.add(topic.asText()));
                consumer.subscribe(topics);
            }
            case "poll" -> poll(command, answer);
            case "acknowledge" -> {
                String key = key(command.get("topic").asText(), command.get("partition").asInt(),
                    command.get("offset").asLong());
                AcknowledgeType type = AcknowledgeType.forId((byte) command.get("type").asInt());
                consumer.acknowledge(polled.get(key), type);
            }
            case "commit" -> commit(command, answer);
            case "commit_async" -> consumer.commitAsync();
            case "close" -> consumer.close();
            case "goodbye" -> { }
            default -> throw new IllegalArgumentException("no such command: " + command.get("do"));
        }
    }

    private static void hello(ObjectNode answer) throws IOException {
        Properties properties = new Properties();
        try (var stream = KafkaShareConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(stream);
        }
        answer.put("protocol", 1);
        answer.put("name", "Apache Kafka " + properties.getProperty("version") + ", KafkaShareConsumer");
        answer.put("callbacks", true);
        answer.put("resubscribes", true);
        answer.put("deserializes", true);
        answer.put("renews", Stream.of(AcknowledgeType.values()).anyMatch(type -> type.id == RENEW));
        ArrayNode modes = answer.putArray("acquire_modes").add("batch_optimized");
        if (ConsumerConfig.configNames().contains("share.acquire.mode")) {
            modes.add("record_limit");
        }
    }

    private void open(JsonNode command) {
        polled.clear();
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
        offsets.forEach((partition, known) -> {
            ObjectNode said = JSON.createObjectNode();
            place(said, partition.topic(), partition.partition());
            ArrayNode list = said.putArray("offsets");
            new TreeSet<>(known).forEach(list::add);
            said.put("error", named(error));
            completed.add(said);
        });
    }

    private void poll(JsonNode command, ObjectNode answer) {
        ConsumerRecords<String, String> records =
            consumer.poll(Duration.ofMillis(command.get("timeout_ms").asLong()));
        ArrayNode list = answer.putArray("records");
        for (ConsumerRecord<String, String> record : records) {
            polled.put(key(record.topic(), record.partition(), record.offset()), record);
            ObjectNode item = list.addObject();
            place(item, record.topic(), record.partition());
            item.put("offset", record.offset());
            item.put("delivery_count", record.deliveryCount().orElse((short) 0));
            item.put("value", record.value());
        }
    }

    private void commit(JsonNode command, ObjectNode answer) {
        Map<TopicIdPartition, Optional<KafkaException>> results =
            consumer.commitSync(Duration.ofMillis(command.get("timeout_ms").asLong()));
        ArrayNode list = answer.putArray("results");
        results.forEach((partition, error) -> {
            ObjectNode item = list.addObject();
            place(item, partition.topic(), partition.partition());
            item.put("error", named(error.orElse(null)));
        });
    }

    private static void place(ObjectNode item, String topic, int partition) {
        item.put("topic", topic);
        item.put("partition", partition);
    }

    private static String key(String topic, int partition, long offset) {
        return topic + "/" + partition + "/" + offset;
    }

    private static String named(Exception error) {
        return error == null ? null : error.getClass().getSimpleName() + ": " + error.getMessage();
    }

    /** Refuses one value, as a deserializer does what it cannot read. */
    public static class Refusing implements Deserializer<String> {
        @Override
        public String deserialize(String topic, byte[] data) {
            String text = new String(data, StandardCharsets.UTF_8);
            if ("unreadable".equals(text)) {
                throw new SerializationException(text);
            }
            return text;
        }
    }
}
