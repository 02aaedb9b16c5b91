import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.kafka.core.DefaultShareConsumerFactory;
import org.springframework.kafka.listener.AcknowledgingShareConsumerAwareMessageListener;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.ShareKafkaMessageListenerContainer;
import org.springframework.kafka.support.ShareAcknowledgment;

/**
 * A driver for the share container of Spring for Apache Kafka; docs/verify-client.md has the commands.
 *
 * <p>The listener hands each record to the application, which acknowledges it in a thread of its
 * own, as MANUAL mode allows. Where the application listens it is in EXPLICIT or IMPLICIT mode, as
 * the container comes: the listener returns, or throws, once the application says what becomes of
 * the record, and what the container tells is what it logs. It polls and commits by itself.
 */
public class SpringKafka {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int RENEW = 4;
    private static final long AT_ONCE_MS = 100;
    private static final Logger LOG = Logger.getLogger("org.springframework.kafka");
    private static final Pattern OFFSETS = Pattern.compile("([\\w.]+)-(\\d+)=\\[([\\d, ]+)]");

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
    private boolean listens;
    private boolean implicit;
    private volatile boolean closing;
    private int left;
    private ShareKafkaMessageListenerContainer<String, String> container;

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        System.setProperty("org.apache.commons.logging.LogFactory", "org.apache.commons.logging.impl.LogFactoryImpl");
        System.setProperty("org.apache.commons.logging.Log", "org.apache.commons.logging.impl.Jdk14Logger");
        SpringKafka driver = new SpringKafka();
        LOG.addHandler(driver.new Reader());
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
                break;
            }
        }
        // Threads of a container that was not closed would keep the process when its input has ended.
        System.exit(0);
    }

    private void carryOut(JsonNode command, ObjectNode answer) throws InterruptedException {
        switch (command.get("do").asText()) {
            case "hello" -> hello(answer);
            case "open" -> open(command);
            case "subscribe" -> subscribe(command);
            case "poll" -> poll(command, answer);
            case "acknowledge" -> acknowledge(command);
            case "commit" -> commit(command, answer);
            case "commit_async" -> returnImplicitly();
            case "goodbye" -> { }
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
        answer.put("listens", true);
        answer.putArray("acquire_modes").add("batch_optimized").add("record_limit");
    }

    private void open(JsonNode command) {
        arrived.clear();
        inHand.clear();
        unsaid.clear();
        refused.clear();
        unanswered.clear();
        most = command.get("max_poll_records").asInt();
        implicit = command.get("mode").asText().equals("implicit");
        listens = command.path("listens").asBoolean();
        if (implicit && !listens) {
            throw new IllegalArgumentException("IMPLICIT mode has no application but a listener");
        }
        closing = false;
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
        properties.setSyncShareCommits(listens && !Boolean.getBoolean("async"));
        if (listens) {
            properties.setShareAckMode(implicit ? ContainerProperties.ShareAckMode.IMPLICIT
                : ContainerProperties.ShareAckMode.EXPLICIT);
            properties.setMessageListener((MessageListener<String, String>) this::listen);
        } else {
            properties.setShareAckMode(ContainerProperties.ShareAckMode.MANUAL);
            properties.setAcknowledgementCommitCallback(this::note);
            AcknowledgingShareConsumerAwareMessageListener<String, String> listener =
                (record, acknowledgment, consumer) -> arrived.add(new Delivery(record, acknowledgment));
            properties.setMessageListener(listener);
        }
        container = new ShareKafkaMessageListenerContainer<>(new Factory(), properties);
        container.setShareConsumerRecordRecoverer((record, thrown) -> ((Thrown) thrown).type);
        container.start();
    }

    /** Makes consumers whose polls are counted: a listener is not told which record is the last of one. */
    private class Factory extends DefaultShareConsumerFactory<String, String> {
        Factory() {
            super(settings, StringDeserializer::new, Refusing::new);
        }

        @Override
        @SuppressWarnings("unchecked")
        protected ShareConsumer<String, String> createRawConsumer(String group, String client, Map<String, Object> more) {
            ShareConsumer<String, String> consumer = super.createRawConsumer(group, client, more);
            return (ShareConsumer<String, String>) Proxy.newProxyInstance(
                SpringKafka.class.getClassLoader(), new Class<?>[] {ShareConsumer.class}, (proxy, method, arguments) -> {
                    try {
                        Object answer = method.invoke(consumer, arguments);
                        left = answer instanceof ConsumerRecords<?, ?> records ? records.count() : left;
                        return answer;
                    } catch (InvocationTargetException error) {
                        throw error.getCause();
                    }
                });
        }
    }

    /** Wait, in the container's thread, for what becomes of a record. */
    private void listen(ConsumerRecord<String, String> record) {
        Outcome outcome = new Outcome();
        arrived.add(new Delivery(record, outcome));
        left--;
        if (implicit && left > 0) {
            return;  // The container commits behind the last record of a poll.
        }
        AcknowledgeType type = closing ? AcknowledgeType.RELEASE : outcome.join();
        if (closing && implicit) {
            throw new Error("the application ends, and has not processed the record");
        }
        if (type != AcknowledgeType.ACCEPT) {
            throw new Thrown(type);
        }
    }

    /** In implicit mode a listener returns before the next record can come. */
    private synchronized void returnImplicitly() {
        if (implicit) {
            inHand.values().forEach(delivery -> delivery.acknowledgment().acknowledge());
            unanswered.addAll(inHand.keySet());
            inHand.clear();
            unsaid.clear();
        }
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
        returnImplicitly();
        if (!unsaid.isEmpty()) {
            throw new IllegalStateException("records are unacknowledged: the container delivers nothing");
        }
        ArrayNode list = answer.putArray("records");
        long wait = command.get("timeout_ms").asLong();
        for (Delivery each = next(wait); each != null; each = (listens ? implicit : list.size() < most) ? next(AT_ONCE_MS) : null) {
            ConsumerRecord<String, String> record = each.record();
            Offset at = at(each);
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

    private static Offset at(Delivery delivery) {
        ConsumerRecord<String, String> record = delivery.record();
        return new Offset(record.topic(), record.partition(), record.offset());
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
        returnImplicitly();
        if (listens) {
            wait(AT_ONCE_MS);
        }
        long end = System.currentTimeMillis() + command.get("timeout_ms").asLong();
        while (!listens && !unanswered.isEmpty()) {  // What a listener said no answer is told of.
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
            closing = true;
            arrived.forEach(delivery -> inHand.put(at(delivery), delivery));
            if (listens) {
                inHand.values().forEach(delivery -> delivery.acknowledgment().release());
            }
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

    /** What a listener throws for the container to release or reject its record. */
    private static class Thrown extends RuntimeException {
        private final AcknowledgeType type;

        Thrown(AcknowledgeType type) {
            this.type = type;
        }
    }

    /** What the application says of the record for which a listener waits. */
    private static class Outcome extends CompletableFuture<AcknowledgeType> implements ShareAcknowledgment {
        @Override
        public void acknowledge() {
            complete(AcknowledgeType.ACCEPT);
        }

        @Override
        public void release() {
            complete(AcknowledgeType.RELEASE);
        }

        @Override
        public void reject() {
            complete(AcknowledgeType.REJECT);
        }

        @Override
        public void renew() {
            throw new IllegalStateException("a listener renews nothing");
        }
    }

    /** Reads what the container logs of commits that fail: which offsets, where it names them. */
    private class Reader extends Handler {
        @Override
        public void publish(LogRecord line) {
            if (listens && line.getLevel() == Level.SEVERE && line.getMessage().contains("commit")) {
                Exception error = new IllegalStateException(line.getMessage());
                Map<TopicIdPartition, Set<Long>> offsets = new HashMap<>();
                for (Matcher named = OFFSETS.matcher(line.getMessage()); named.find();) {
                    for (String offset : named.group(3).split(", ")) {
                        add(offsets, named.group(1), Integer.parseInt(named.group(2)), Long.parseLong(offset));
                    }
                }
                synchronized (SpringKafka.this) {
                    if (offsets.isEmpty()) {
                        unanswered.forEach(each -> add(offsets, each.topic(), each.partition(), each.offset()));
                    }
                    note(offsets, error);
                }
            }
        }

        private static void add(Map<TopicIdPartition, Set<Long>> offsets, String topic, int partition, long offset) {
            offsets.computeIfAbsent(new TopicIdPartition(Uuid.ZERO_UUID, partition, topic), absent -> new HashSet<>())
                .add(offset);
        }

        @Override
        public void flush() { }

        @Override
        public void close() { }
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
