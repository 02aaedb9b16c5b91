import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.smallrye.config.PropertiesConfigSource;
import io.smallrye.config.SmallRyeConfigBuilder;
import io.smallrye.mutiny.subscription.MultiSubscriber;
import io.smallrye.reactive.messaging.kafka.IncomingKafkaRecord;
import io.smallrye.reactive.messaging.kafka.KafkaCDIEvents;
import io.smallrye.reactive.messaging.kafka.KafkaConnectorIncomingConfiguration;
import io.smallrye.reactive.messaging.kafka.api.IncomingKafkaRecordMetadata;
import io.smallrye.reactive.messaging.kafka.impl.KafkaAdminClientRegistry;
import io.smallrye.reactive.messaging.kafka.impl.KafkaShareGroupSource;
import io.smallrye.reactive.messaging.kafka.queues.ShareGroupAcknowledgement;
import io.vertx.mutiny.core.Vertx;
import jakarta.enterprise.event.Event;
import jakarta.enterprise.inject.Instance;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.eclipse.microprofile.reactive.messaging.Metadata;

/**
 * A driver for the Kafka connector of SmallRye Reactive Messaging with share groups, as Quarkus has it.
 *
 * <p>The application takes messages as they come, and acknowledges each when it likes; where it listens
 * it asks for the next one only then. The connector polls, commits and renews locks by itself, and says
 * of acknowledgements only in its log what became of them. With a listener it is as it comes; otherwise it
 * waits 1 s at most to poll again, and not ever longer, and 5 s as it closes, so that there is more to see.
 */
public class SmallRye extends ShareDriver {
    private static final long AT_ONCE_MS = 100;
    private static final Logger LOG = Logger.getLogger("io.smallrye.reactive.messaging.kafka");

    private final Vertx vertx = Vertx.vertx();
    private final BlockingQueue<IncomingKafkaRecord<String, String>> arrived = new LinkedBlockingQueue<>();
    private final Map<Offset, IncomingKafkaRecord<String, String>> inHand = new HashMap<>();
    private final Set<Offset> unanswered = new HashSet<>();
    private final Map<String, ObjectNode> results = new TreeMap<>();
    private Map<String, String> settings;
    private int most;
    private boolean listens;
    private volatile Flow.Subscription subscription;
    private KafkaShareGroupSource<String, String> source;

    public static void main(String[] args) throws IOException {
        System.setProperty("org.jboss.logging.provider", "jdk");
        SmallRye driver = new SmallRye();
        LOG.setLevel(Level.FINE);
        LOG.addHandler(driver.new Reader());
        driver.drive();
    }

    @Override
    void hello(ObjectNode answer) {
        String version = KafkaShareGroupSource.class.getPackage().getImplementationVersion();
        answer.put("name", "SmallRye Reactive Messaging " + version + ", KafkaShareGroupSource");
        answer.put("deserializes", true);
        answer.put("listens", true);
        answer.put("renews_itself", true);
        answer.putArray("modes").add("explicit");
        answer.putArray("without").add("refuses-a-poll-with-records-unacknowledged");
        answer.putArray("acquire_modes").add("batch_optimized").add("record_limit");
    }

    @Override
    synchronized void open(JsonNode command) {
        arrived.clear();
        inHand.clear();
        unanswered.clear();
        results.clear();
        boolean limit = command.get("acquire_mode").asText().equals("record_limit");
        most = limit ? command.get("max_poll_records").asInt() : Integer.MAX_VALUE;
        listens = command.path("listens").asBoolean();
        settings = new HashMap<>(Map.of(
            "channel-name", "records",
            "connector", "smallrye-kafka",
            "bootstrap.servers", command.get("bootstrap").asText(),
            "group.id", command.get("group").asText(),
            "share.acquire.mode", command.get("acquire_mode").asText(),
            "max.poll.records", command.get("max_poll_records").asText(),
            "value.deserializer", Refusing.class.getName(),
            "health-enabled", "false",
            "health-readiness-enabled", "false",
            "tracing-enabled", "false"));
        if (!listens) {
            settings.put("retry-max-wait", "1");
            settings.put("default.api.timeout.ms", "5000");
        }
    }

    @Override
    void subscribe(List<String> topics) {
        settings.put("topics", String.join(",", topics));
        var config = new SmallRyeConfigBuilder().withSources(new PropertiesConfigSource(settings, "driver", 100)).build();
        source = new KafkaShareGroupSource<>(vertx, settings.get("group.id"), new KafkaConnectorIncomingConfiguration(config),
            nothing(), new Events(), new KafkaAdminClientRegistry(), nothing(), nothing());
        source.getStream().subscribe().withSubscriber(new Listener());
    }

    /** What is injected where the application has no such bean. */
    @SuppressWarnings("unchecked")
    private static <T> Instance<T> nothing() {
        return (Instance<T>) implement(Instance.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "select" -> proxy;
            case "iterator" -> Collections.emptyIterator();
            case "stream", "handlesStream" -> Stream.empty();
            case "isUnsatisfied" -> true;
            default -> false;
        });
    }

    private static Object implement(Class<?> type, java.lang.reflect.InvocationHandler handler) {
        return Proxy.newProxyInstance(SmallRye.class.getClassLoader(), new Class<?>[] {type}, handler);
    }

    /** Nobody observes consumers. */
    private static class Events extends KafkaCDIEvents {
        @Override
        @SuppressWarnings("unchecked")
        public Event<ShareConsumer<?, ?>> shareConsumer() {
            return (Event<ShareConsumer<?, ?>>) implement(Event.class, (Object proxy, Method method, Object[] arguments) -> null);
        }
    }

    private class Listener implements MultiSubscriber<IncomingKafkaRecord<String, String>> {
        @Override
        public void onSubscribe(Flow.Subscription given) {
            subscription = given;
            given.request(listens ? 1 : Long.MAX_VALUE);
        }

        @Override
        public void onItem(IncomingKafkaRecord<String, String> message) {
            arrived.add(message);
        }

        @Override
        public void onFailure(Throwable failure) {
            LOG.log(Level.SEVERE, "the stream of messages fails", failure);
        }

        @Override
        public void onCompletion() { }
    }

    @Override
    void poll(long timeoutMs, ArrayNode records) throws InterruptedException {
        if (!inHand.isEmpty()) {
            throw new IllegalStateException("records are unacknowledged: the connector polls nothing");
        }
        for (var each = next(timeoutMs); each != null; each = listens || records.size() >= most ? null : next(AT_ONCE_MS)) {
            ConsumerRecord<String, String> record = recordOf(each);
            inHand.put(Offset.of(record), each);
            deliver(records, record);
        }
    }

    @SuppressWarnings("unchecked")
    private static ConsumerRecord<String, String> recordOf(IncomingKafkaRecord<String, String> message) {
        return message.getMetadata(IncomingKafkaRecordMetadata.class).orElseThrow().getRecord();
    }

    private IncomingKafkaRecord<String, String> next(long milliseconds) throws InterruptedException {
        return arrived.poll(milliseconds, TimeUnit.MILLISECONDS);
    }

    /** Acknowledge a message, or what failed to process it, and wait for what the connector says of that. */
    @Override
    void acknowledge(Offset at, int type) throws Exception {
        IncomingKafkaRecord<String, String> message = inHand.remove(at);
        if (message == null) {
            throw new IllegalStateException(at + " is not in hand");
        }
        synchronized (this) {
            unanswered.add(at);
        }
        AcknowledgeType said = AcknowledgeType.forId((byte) type);
        var stage = said == AcknowledgeType.ACCEPT ? message.ack()
            : message.nack(new IllegalStateException("not processed"), Metadata.of(ShareGroupAcknowledgement.from(said)));
        stage.toCompletableFuture().get(10, TimeUnit.SECONDS);
        if (listens) {
            subscription.request(1);
        }
    }

    /** Wait until the log says of everything acknowledged what became of it; the connector sends it by itself. */
    @Override
    synchronized void commit(long timeoutMs, ArrayNode answer) throws InterruptedException {
        long end = System.currentTimeMillis() + timeoutMs;
        while (!unanswered.isEmpty()) {
            long left = end - System.currentTimeMillis();
            if (left <= 0) {
                throw new IllegalStateException(unanswered.size() + " acknowledgements are not answered in time");
            }
            wait(left);
        }
        results.values().forEach(answer::add);
        results.clear();
    }

    @Override
    void commitAsync() { }

    @Override
    void close() {
        if (source != null) {
            source.closeQuietly();
            source = null;
        }
    }

    /** Reads what the connector logs of acknowledgements: of one that fails it names no offset. */
    private class Reader extends Handler {
        @Override
        public void publish(LogRecord line) {
            String text = line.getMessage();
            synchronized (SmallRye.this) {
                if (text.contains("SRMSG18287")) {
                    Set.copyOf(unanswered).forEach(each -> note(each, line.getThrown()));
                } else if (text.contains("SRMSG18286")) {
                    offsetsIn(String.format(text, line.getParameters())).forEach(each -> note(each, null));
                }
                SmallRye.this.notifyAll();
            }
        }

        private void note(Offset at, Throwable error) {
            complete(at.topic(), at.partition(), List.of(at.offset()), error);
            unanswered.remove(at);
            results.merge(at.topic() + "-" + at.partition(), outcome(at.topic(), at.partition(), error),
                (before, now) -> before.get("error").isNull() ? now : before);
        }

        @Override
        public void flush() { }

        @Override
        public void close() { }
    }
}
