package org.apache.kafka.clients.consumer.internals;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.LinkedList;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import kafka.server.share.Hidden;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.clients.consumer.internals.events.ApplicationEvent;
import org.apache.kafka.clients.consumer.internals.events.ApplicationEventHandler;
import org.apache.kafka.clients.consumer.internals.events.ApplicationEventProcessor;
import org.apache.kafka.clients.consumer.internals.events.BackgroundEvent;
import org.apache.kafka.clients.consumer.internals.events.BackgroundEventHandler;
import org.apache.kafka.clients.consumer.internals.events.CompletableApplicationEvent;
import org.apache.kafka.clients.consumer.internals.events.CompletableEventReaper;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgeSyncEvent;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgementEvent;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgementEventHandler;
import org.apache.kafka.clients.consumer.internals.events.ShareUnsubscribeEvent;
import org.apache.kafka.clients.consumer.internals.metrics.AsyncConsumerMetrics;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;

/**
 * Kafka's own share consumer without threads: what its background thread does is done in steps, and where the
 * application would wait, {@code wait} is asked to let the time pass until a future is done. What the group
 * coordinator tells it, its member id and the partitions, is given.
 */
public final class SteppedConsumer {
    private static final ConsumerConfig CONFIG = new ConsumerConfig(Map.of(
        ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, "node-0:9092", ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000,
        ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 6_000,
        ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class,
        ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class));
    private static final int LEAST_BYTES = 1;
    private static final int MOST_BYTES = 1 << 20;
    private static final int WAIT_MS = 500;

    private final LogContext log = new LogContext();
    private final Time time;
    private final Consumer<CompletableFuture<?>> wait;
    private final Runnable pump;
    private final Queue<ApplicationEvent> asked = new ArrayDeque<>();
    private final CompletableEventReaper reaper = new CompletableEventReaper(log);
    private final SubscriptionState subscriptions = new SubscriptionState(log, AutoOffsetResetStrategy.NONE);
    private final ShareConsumerMetadata metadata;
    private final ShareFetchBuffer buffer = new ShareFetchBuffer(log);
    private final ShareConsumeRequestManager manager;
    private final NetworkClientDelegate network;
    private final ApplicationEventProcessor processor;
    private final ShareConsumerImpl<byte[], byte[]> consumer;

    public SteppedConsumer(Time time, KafkaClient client, String group, String member, Collection<TopicPartition> assigned,
            boolean explicit, int maxRecords, boolean recordLimit, Consumer<CompletableFuture<?>> wait, Runnable pump) {
        this.time = time;
        this.wait = wait;
        this.pump = pump;
        metadata = new ShareConsumerMetadata(CONFIG, subscriptions, log, new ClusterResourceListeners());
        Metrics metrics = new Metrics(time);
        LinkedBlockingQueue<ShareAcknowledgementEvent> told = new LinkedBlockingQueue<>();
        LinkedBlockingQueue<BackgroundEvent> background = new LinkedBlockingQueue<>();
        ShareFetchMetricsManager fetched = new ShareFetchMetricsManager(metrics, new ShareFetchMetricsRegistry());
        ShareFetchConfig config = new ShareFetchConfig(LEAST_BYTES, MOST_BYTES, WAIT_MS, MOST_BYTES, maxRecords, true, "",
            IsolationLevel.READ_UNCOMMITTED,
            recordLimit ? ShareAcquireMode.RECORD_LIMIT : ShareAcquireMode.BATCH_OPTIMIZED);
        manager = new ShareConsumeRequestManager(time, log, group, metadata, subscriptions, config, buffer,
            new ShareAcknowledgementEventHandler(told), fetched, CONFIG.getLong(ConsumerConfig.RETRY_BACKOFF_MS_CONFIG),
            CONFIG.getLong(ConsumerConfig.RETRY_BACKOFF_MAX_MS_CONFIG));
        AsyncConsumerMetrics async = new AsyncConsumerMetrics(metrics, "stepped-metrics");
        network = new NetworkClientDelegate(time, CONFIG, log, client, metadata,
            new BackgroundEventHandler(background, time, async), true, async);
        processor = new ApplicationEventProcessor(log, new RequestManagers(log, manager, Optional.empty(),
            Optional.empty(), Optional.empty()), metadata, subscriptions);
        Deserializers<byte[], byte[]> plain = new Deserializers<>(new ByteArrayDeserializer(), new ByteArrayDeserializer(),
            metrics);
        consumer = new ShareConsumerImpl<>(log, member, new ByteArrayDeserializer(), new ByteArrayDeserializer(), buffer,
            new ShareFetchCollector<>(log, metadata, subscriptions, config, plain), fetched, time, Events.of(this), told,
            background, new CompletableEventReaper(log), metrics, subscriptions, metadata,
            CONFIG.getInt(ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG), CONFIG.getInt(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG),
            group, explicit ? "explicit" : "implicit");
        // The constructor that takes parts keeps a list to which nothing can be added.
        Hidden.set(consumer, "completedAcknowledgements", new LinkedList<>());
        subscriptions.subscribeToShareGroup(Set.of(assigned.iterator().next().topic()));
        subscriptions.assignFromSubscribed(assigned);
        manager.onMemberEpochUpdated(Optional.of(1), member);
    }

    // What its background thread does.

    /** One turn of the background thread; returns after how many ms it asks for the next. */
    public long step() {
        while (!asked.isEmpty()) {
            process(asked.poll());
        }
        long now = time.milliseconds();
        long next = network.addAll(manager.poll(now));
        network.poll(0, now);
        reaper.reap(now);
        return network.unsentRequests().isEmpty() ? next : Math.min(next, CONFIG.getLong(ConsumerConfig.RETRY_BACKOFF_MS_CONFIG));
    }

    private void process(ApplicationEvent event) {
        if (event instanceof ShareUnsubscribeEvent unsubscribe) { // There is no group coordinator to tell.
            subscriptions.unsubscribe();
            unsubscribe.future().complete(null);
            return;
        }
        if (event instanceof CompletableApplicationEvent<?> completable) {
            reaper.add(completable);
        }
        processor.process(event);
    }

    /** It learns of leaders. */
    public void learn(MetadataResponse cluster) {
        metadata.updateWithCurrentRequestVersion(cluster, false, time.milliseconds());
    }

    /** Whether a poll would return at once. */
    public boolean hasRecords() {
        return !buffer.isEmpty();
    }

    /** What the application calls. */
    public ShareConsumer<byte[], byte[]> application() {
        return consumer;
    }

    /** Takes what the application asks for, instead of the one that has a thread. */
    private static final class Events extends ApplicationEventHandler {
        private SteppedConsumer owner;

        private Events() { // Never runs, as it would start the thread.
            super(null, null, 0, null, null, null, null, null, null);
        }

        private static Events of(SteppedConsumer owner) {
            Events made = Hidden.made(Events.class);
            made.owner = owner;
            return made;
        }

        @Override
        public void add(ApplicationEvent event) {
            owner.asked.add(event);
            owner.pump.run();
            if (event instanceof ShareAcknowledgeSyncEvent commit) {
                owner.wait.accept(commit.future());
            } else if (event instanceof ShareUnsubscribeEvent unsubscribe) {
                owner.wait.accept(unsubscribe.future());
            }
        }

        @Override
        public <T> T addAndGet(CompletableApplicationEvent<T> event) {
            add(event);
            owner.wait.accept(event.future());
            return ConsumerUtils.getResult(event.future());
        }

        @Override
        public void wakeupNetworkThread() {
            owner.pump.run();
        }

        @Override
        public long maximumTimeToWait() {
            return Long.MAX_VALUE;
        }

        @Override
        public void close(Duration timeout) {
            owner.network.addAll(owner.manager.pollOnClose(owner.time.milliseconds()));
            owner.manager.close();
        }

        @Override
        public void close() {
            close(Duration.ZERO);
        }
    }
}
