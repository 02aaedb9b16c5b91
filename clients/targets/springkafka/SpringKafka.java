import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.kafka.core.DefaultShareConsumerFactory;
import org.springframework.kafka.listener.AcknowledgingShareConsumerAwareMessageListener;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.ShareKafkaMessageListenerContainer;
import org.springframework.kafka.support.ShareAcknowledgment;

/**
 * A driver for the share container of Spring for Apache Kafka.
 *
 * <p>The listener hands each record to the application, which acknowledges it in a thread of its
 * own, as MANUAL mode allows. Where the application listens it is in EXPLICIT or IMPLICIT mode, as
 * the container comes: the listener returns, or throws, once the application says what becomes of
 * the record, and what the container tells is what it logs. It polls and commits by itself.
 */
public class SpringKafka extends ShareDriver {
    private static final int RENEW = 4;
    private static final long AT_ONCE_MS = 100;
    private static final Logger LOG = Logger.getLogger("org.springframework.kafka");

    private record Delivery(ConsumerRecord<String, String> record, ShareAcknowledgment acknowledgment) { }

    private final BlockingQueue<Delivery> arrived = new LinkedBlockingQueue<>();
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

    public static void main(String[] args) throws IOException {
        System.setProperty("org.apache.commons.logging.LogFactory", "org.apache.commons.logging.impl.LogFactoryImpl");
        System.setProperty("org.apache.commons.logging.Log", "org.apache.commons.logging.impl.Jdk14Logger");
        SpringKafka driver = new SpringKafka();
        LOG.addHandler(driver.new Reader());
        driver.drive();
    }

    @Override
    void hello(ObjectNode answer) {
        String version = ShareKafkaMessageListenerContainer.class.getPackage().getImplementationVersion();
        answer.put("name", "Spring for Apache Kafka " + version + ", ShareKafkaMessageListenerContainer");
        answer.put("callbacks", true);
        answer.put("renews", true);
        answer.put("deserializes", true);
        answer.put("listens", true);
        answer.putArray("acquire_modes").add("batch_optimized").add("record_limit");
    }

    @Override
    void open(JsonNode command) {
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

    @Override
    void subscribe(List<String> topics) {
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
    @Override
    synchronized void commitAsync() {
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
            complete(partition.topic(), partition.partition(), known, error);
            known.forEach(offset -> unanswered.remove(new Offset(partition.topic(), partition.partition(), offset)));
            refused.merge(partition.topicPartition().toString(), outcome(partition.topic(), partition.partition(), error),
                (before, now) -> before.get("error").isNull() ? now : before);
        });
        notifyAll();
    }

    @Override
    void poll(long timeoutMs, ArrayNode records) throws InterruptedException {
        commitAsync();
        if (!unsaid.isEmpty()) {
            throw new IllegalStateException("records are unacknowledged: the container delivers nothing");
        }
        for (Delivery each = next(timeoutMs); each != null;
                each = (listens ? implicit : records.size() < most) ? next(AT_ONCE_MS) : null) {
            Offset at = Offset.of(each.record());
            inHand.put(at, each);
            unsaid.add(at);
            deliver(records, each.record());
        }
    }

    private Delivery next(long milliseconds) throws InterruptedException {
        return arrived.poll(milliseconds, TimeUnit.MILLISECONDS);
    }

    @Override
    void acknowledge(Offset at, int type) {
        Delivery delivery = inHand.get(at);
        if (delivery == null) {
            throw new IllegalStateException(at + " is not in hand");
        }
        unsaid.remove(at);  // Whatever becomes of it: the container does not wait for it any more.
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
    @Override
    synchronized void commit(long timeoutMs, ArrayNode results) throws InterruptedException {
        commitAsync();
        if (listens) {
            wait(AT_ONCE_MS);
        }
        long end = System.currentTimeMillis() + timeoutMs;
        while (!listens && !unanswered.isEmpty()) {  // What a listener said no answer is told of.
            long left = end - System.currentTimeMillis();
            if (left <= 0) {
                throw new IllegalStateException(unanswered.size() + " acknowledgements are not answered in time");
            }
            wait(left);
        }
        refused.values().forEach(results::add);
        refused.clear();
    }

    @Override
    void close() {
        if (container != null) {
            closing = true;
            arrived.forEach(delivery -> inHand.put(Offset.of(delivery.record()), delivery));
            if (listens) {
                inHand.values().forEach(delivery -> delivery.acknowledgment().release());
            }
            container.stop();
            container = null;
        }
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
                offsetsIn(line.getMessage()).forEach(each -> add(offsets, each));
                synchronized (SpringKafka.this) {
                    if (offsets.isEmpty()) {
                        unanswered.forEach(each -> add(offsets, each));
                    }
                    note(offsets, error);
                }
            }
        }

        private static void add(Map<TopicIdPartition, Set<Long>> offsets, Offset at) {
            offsets.computeIfAbsent(new TopicIdPartition(Uuid.ZERO_UUID, at.partition(), at.topic()), absent -> new HashSet<>())
                .add(at.offset());
        }

        @Override
        public void flush() { }

        @Override
        public void close() { }
    }
}
