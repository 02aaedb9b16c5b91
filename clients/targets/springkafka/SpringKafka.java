import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.kafka.core.DefaultShareConsumerFactory;
import org.springframework.kafka.listener.AcknowledgingShareConsumerAwareMessageListener;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ShareKafkaMessageListenerContainer;
import org.springframework.kafka.support.ShareAcknowledgment;

/**
 * A driver for the share container of Spring for Apache Kafka; docs/verify-client.md has the commands.
 *
 * <p>The listener hands each record to the application, which acknowledges it in a thread of its
 * own, as MANUAL mode allows. The container polls and commits by itself.
 */
public class SpringKafka {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int RENEW = 4;
    private static final long AT_ONCE_MS = 100;

    private record Delivery(ConsumerRecord<String, String> record, ShareAcknowledgment acknowledgment) { }

    private record Offset(String topic, int partition, long offset) { }

    private final BlockingQueue<Delivery> arrived = new LinkedBlockingQueue<>();
    private final ConcurrentLinkedQueue<ObjectNode> completed = new ConcurrentLinkedQueue<>();
    private final Set<Offset> unanswered = new HashSet<>();
    private final Map<Offset, Delivery> inHand = new HashMap<>();
    private final Set<Offset> unsaid = new HashSet<>();
    private final Map<String, ObjectNode> refused = new TreeMap<>();
    private Map<String, Object> settings;
    private int most;
    private ShareKafkaMessageListenerContainer<String, String> container;

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        SpringKafka driver = new SpringKafka();
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
            for (ObjectNode each = driver.completed.poll(); each != null; each = driver.completed.poll()) {
                said.add(each);
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
            if (command.get("do").asText().equals("goodbye")) {
                System.exit(0);
            }
        }
    }

    private void carryOut(JsonNode command, ObjectNode answer) throws InterruptedException {
        switch (command.get("do").asText()) {
            case "hello" -> hello(answer);
            case "open" -> open(command);
            case "subscribe" -> subscribe(command);
            case "poll" -> poll(command, answer);
            case "acknowledge" -> acknowledge(command);
            case "commit" -> commit(command, answer);
            case "commit_async", "goodbye" -> { }
            case "close" -> close();
            default -> throw new IllegalArgumentException("no such command: " + command.get("do"));
        }
    }

    private static void hello(ObjectNode answer) {
        String version = ShareKafkaMessageListenerContainer.class.getPackage().getImplementationVersion();
        answer.put("protocol", 1);
        answer.put("name", "Spring for Apache Kafka " + version + ", ShareKafkaMessageListenerContainer");
        answer.put("callbacks", true);
        answer.put("renews", true);
        answer.put("deserializes", true);
        answer.putArray("modes").add("explicit");
        answer.putArray("acquire_modes").add("batch_optimized").add("record_limit");
    }

    private void open(JsonNode command) {
        arrived.clear();
        inHand.clear();
        unsaid.clear();
        refused.clear();
        unanswered.clear();
        most = command.get("max_poll_records").asInt();
        settings = Map.of(
            "bootstrap.servers", command.get("bootstrap").asText(),
            "group.id", command.get("group").asText(),
            "share.acquire.mode", command.get("acquire_mode").asText(),
            "max.poll.records", most);
    }

    private void subscribe(JsonNode command) {
        List<String> topics = new ArrayList<>();
        command.get("topics").forEach(topic -> topics.add(topic.asText()));
        ContainerProperties properties = new ContainerProperties(topics.toArray(String[]::new));
        properties.setShareAckMode(ContainerProperties.ShareAckMode.MANUAL);
        properties.setSyncShareCommits(false);
        properties.setAcknowledgementCommitCallback(this::note);
        AcknowledgingShareConsumerAwareMessageListener<String, String> listener =
            (record, acknowledgment, consumer) -> arrived.add(new Delivery(record, acknowledgment));
        properties.setMessageListener(listener);
        container = new ShareKafkaMessageListenerContainer<>(
            new DefaultShareConsumerFactory<String, String>(
                settings, StringDeserializer::new, Refusing::new),
            properties);
        container.start();
    }

    /** Note what the container was told of acknowledgements; it tells in its own thread. */
    private synchronized void note(Map<TopicIdPartition, Set<Long>> offsets, Exception error) {
        offsets.forEach((partition, known) -> {
            ObjectNode said = place(partition.topic(), partition.partition(), error);
            ArrayNode list = said.putArray("offsets");
            for (long offset : new TreeSet<>(known)) {
                list.add(offset);
                unanswered.remove(new Offset(partition.topic(), partition.partition(), offset));
            }
            completed.add(said);
            ObjectNode result = place(partition.topic(), partition.partition(), error);
            refused.merge(partition.topicPartition().toString(), result,
                (before, now) -> before.get("error").isNull() ? now : before);
        });
        notifyAll();
    }

    private void poll(JsonNode command, ObjectNode answer) throws InterruptedException {
        if (!unsaid.isEmpty()) {
            throw new IllegalStateException("records are unacknowledged: the container delivers nothing");
        }
        ArrayNode list = answer.putArray("records");
        long wait = command.get("timeout_ms").asLong();
        for (Delivery each = next(wait); each != null; each = list.size() < most ? next(AT_ONCE_MS) : null) {
            ConsumerRecord<String, String> record = each.record();
            Offset at = new Offset(record.topic(), record.partition(), record.offset());
            inHand.put(at, each);
            unsaid.add(at);
            ObjectNode item = list.addObject();
            item.put("topic", record.topic());
            item.put("partition", record.partition());
            item.put("offset", record.offset());
            item.put("delivery_count", record.deliveryCount().orElse((short) 0));
            item.put("value", record.value());
        }
    }

    private Delivery next(long milliseconds) throws InterruptedException {
        return arrived.poll(milliseconds, TimeUnit.MILLISECONDS);
    }

    private void acknowledge(JsonNode command) {
        Offset at = new Offset(command.get("topic").asText(), command.get("partition").asInt(),
            command.get("offset").asLong());
        Delivery delivery = inHand.get(at);
        if (delivery == null) {
            throw new IllegalStateException(at + " is not in hand");
        }
        unsaid.remove(at);  // Whatever becomes of it: the container does not wait for it any more.
        int type = command.get("type").asInt();
        synchronized (this) {
            unanswered.add(at);
        }
        switch (type) {
            case 1 -> delivery.acknowledgment().acknowledge();
            case 2 -> delivery.acknowledgment().release();
            case 3 -> delivery.acknowledgment().reject();
            default -> delivery.acknowledgment().renew();
        }
        if (type != RENEW) {
            inHand.remove(at);
        }
    }

    /** Wait until the container was told of everything acknowledged; it commits by itself. */
    private synchronized void commit(JsonNode command, ObjectNode answer) throws InterruptedException {
        long end = System.currentTimeMillis() + command.get("timeout_ms").asLong();
        while (!unanswered.isEmpty()) {
            long left = end - System.currentTimeMillis();
            if (left <= 0) {
                throw new IllegalStateException(unanswered.size() + " acknowledgements are not answered in time");
            }
            wait(left);
        }
        ArrayNode list = answer.putArray("results");
        refused.values().forEach(list::add);
        refused.clear();
    }

    private void close() {
        if (container != null) {
            container.stop();
            container = null;
        }
    }

    private static ObjectNode place(String topic, int partition, Exception error) {
        ObjectNode item = JSON.createObjectNode();
        item.put("topic", topic);
        item.put("partition", partition);
        item.put("error", named(error));
        return item;
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
