package org.apache.kafka.clients.consumer.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.internals.events.ApplicationEventHandler;
import org.apache.kafka.clients.consumer.internals.events.CompletableEventReaper;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgeAsyncEvent;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgementEvent;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgementEventHandler;
import org.apache.kafka.clients.consumer.internals.events.ShareFetchEvent;
import org.apache.kafka.clients.consumer.internals.events.SharePollEvent;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.RecordDeserializationException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.message.ShareFetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ShareFetchResponse;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.junit.jupiter.api.Test;

/**
 * One answer brings a record, and one whose value the deserializer refuses. The application accepts the first, and the
 * next poll throws at the second, as it should. The acknowledgement of the first is never sent.
 */
public class ShareConsumerUnreadableValueTest {
    private static final Uuid TOPIC = Uuid.randomUuid();
    private static final TopicIdPartition PARTITION = new TopicIdPartition(TOPIC, new TopicPartition("topic", 0));
    private static final Node NODE = new Node(1, "one", 9092);

    private final LogContext log = new LogContext();
    private final LinkedBlockingQueue<ShareAcknowledgementEvent> events = new LinkedBlockingQueue<>();
    private final ShareFetchBuffer buffer = new ShareFetchBuffer(log);
    private final SubscriptionState subscriptions = new SubscriptionState(log, AutoOffsetResetStrategy.NONE);
    private final ShareFetchConfig config = new ShareFetchConfig(1, 1 << 20, 500, 1 << 20, 500, true, "",
        IsolationLevel.READ_UNCOMMITTED, ShareAcquireMode.BATCH_OPTIMIZED);
    private final ShareConsumerMetadata metadata = metadata();
    private final ShareConsumeRequestManager manager = new ShareConsumeRequestManager(Time.SYSTEM, log, "group", metadata,
        subscriptions, config, buffer, new ShareAcknowledgementEventHandler(events), mock(ShareFetchMetricsManager.class),
        100, 1000);
    private final Map<Node, NetworkClientDelegate.UnsentRequest> requests = new HashMap<>();
    private final Map<Long, AcknowledgeType> sent = new TreeMap<>();
    private final ShareConsumerImpl<String, String> consumer = consumer();

    @Test
    public void testPollThatThrowsSendsAcknowledgements() {
        assertEquals(typesOf(AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE), sentAround("refused", false),
            "the acknowledgements that are sent");
    }

    /** Both exceptions say that their record has been released; the control is {@link #testControlWithCommitBetween}. */
    @Test
    public void testPollsThatThrowReleaseEachRecord() {
        assertEquals(typesOf(AcknowledgeType.RELEASE, AcknowledgeType.RELEASE), releasedBothWith(false),
            "the acknowledgements that are sent");
    }

    /** The control, in which the application commits between the two: passes. */
    @Test
    public void testControlWithCommitBetween() {
        assertEquals(typesOf(AcknowledgeType.RELEASE, AcknowledgeType.RELEASE), releasedBothWith(true),
            "the acknowledgements that are sent");
    }

    private Map<Long, AcknowledgeType> releasedBothWith(boolean commits) {
        consumer.poll(Duration.ZERO);
        gives("refused", "refused");
        assertThrows(RecordDeserializationException.class, this::pollAndAccept);
        if (commits) {
            consumer.commitAsync();
        }
        assertThrows(RecordDeserializationException.class, this::pollAndAccept);
        pollAndAccept();
        pollAndAccept();
        return sent;
    }

    /** The control, in which the deserializer takes the value: passes. */
    @Test
    public void testControlWithReadableValue() {
        assertEquals(typesOf(AcknowledgeType.ACCEPT, AcknowledgeType.ACCEPT), sentAround("taken", false),
            "the acknowledgements that are sent");
    }

    /** The control, in which the application commits before that poll: passes. */
    @Test
    public void testControlWithCommit() {
        assertEquals(typesOf(AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE), sentAround("refused", true),
            "the acknowledgements that are sent");
    }

    /** Sorted, as a failure shows it. */
    private static Map<Long, AcknowledgeType> typesOf(AcknowledgeType first, AcknowledgeType second) {
        return new TreeMap<>(Map.of(0L, first, 1L, second));
    }

    /** Polls, accepts what comes, polls what has this value behind it, and polls twice more. */
    private Map<Long, AcknowledgeType> sentAround(String value, boolean commits) {
        consumer.poll(Duration.ZERO);
        gives("taken", value);
        pollAndAccept();
        if (commits) {
            consumer.commitAsync();
        }
        if (value.equals("refused")) {
            assertThrows(RecordDeserializationException.class, this::pollAndAccept);
        }
        pollAndAccept();
        pollAndAccept();
        return sent;
    }

    private void pollAndAccept() {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ZERO)) {
            consumer.acknowledge(record, AcknowledgeType.ACCEPT);
        }
    }

    /** The node answers the fetch with these values, all acquired. */
    private void gives(String... values) {
        List<SimpleRecord> records = new ArrayList<>();
        for (String value : values) {
            records.add(new SimpleRecord(value.getBytes()));
        }
        ShareFetchResponseData.PartitionData row = new ShareFetchResponseData.PartitionData().setPartitionIndex(0)
            .setRecords(MemoryRecords.withRecords(0, Compression.NONE, records.toArray(SimpleRecord[]::new)))
            .setAcquiredRecords(List.of(new ShareFetchResponseData.AcquiredRecords().setFirstOffset(0)
                .setLastOffset(values.length - 1).setDeliveryCount((short) 1)));
        ShareFetchResponse response = ShareFetchResponse.of(Errors.NONE, 0,
            new LinkedHashMap<>(Map.of(PARTITION, row)), List.of(), 30000);
        NetworkClientDelegate.UnsentRequest request = requests.remove(NODE);
        ApiKeys api = ApiKeys.SHARE_FETCH;
        request.handler().onComplete(new ClientResponse(new RequestHeader(api, api.latestVersion(), "client", 0), null,
            NODE.idString(), 0, 0, false, null, null, response));
    }

    private void note(Map<TopicIdPartition, NodeAcknowledgements> acknowledgements) {
        acknowledgements.values().forEach(each -> sent.putAll(each.acknowledgements().getAcknowledgementsTypeMap()));
    }

    private ShareConsumerImpl<String, String> consumer() {
        subscriptions.subscribeToShareGroup(Set.of("topic"));
        subscriptions.assignFromSubscribed(List.of(PARTITION.topicPartition()));
        manager.onMemberEpochUpdated(Optional.of(1), Uuid.randomUuid().toString());
        ApplicationEventHandler network = mock(ApplicationEventHandler.class);
        doAnswer(call -> {
            if (call.getArgument(0) instanceof SharePollEvent poll) {
                poll.completeSuccessfully();
            } else if (call.getArgument(0) instanceof ShareFetchEvent fetch) {
                note(fetch.acknowledgementsMap());
                manager.fetch(fetch.acknowledgementsMap());
            } else if (call.getArgument(0) instanceof ShareAcknowledgeAsyncEvent commit) {
                note(commit.acknowledgementsMap());
            }
            manager.poll(0).unsentRequests.forEach(request -> requests.put(request.node().get(), request));
            return null;
        }).when(network).add(any());
        Metrics metrics = new Metrics();
        Deserializer<String> values = (topic, data) -> {
            String value = new String(data);
            if (value.equals("refused")) {
                throw new SerializationException(value);
            }
            return value;
        };
        return new ShareConsumerImpl<>(log, "client", new StringDeserializer(), values, buffer,
            new ShareFetchCollector<>(log, metadata, subscriptions, config, new Deserializers<>(new StringDeserializer(),
                values, metrics)), mock(ShareFetchMetricsManager.class), Time.SYSTEM, network, events,
            new LinkedBlockingQueue<>(), mock(CompletableEventReaper.class), metrics, subscriptions, metadata, 1000, 1000,
            "group", "explicit");
    }

    private static ShareConsumerMetadata metadata() {
        ShareConsumerMetadata metadata = mock(ShareConsumerMetadata.class);
        when(metadata.fetch()).thenReturn(new Cluster("cluster", List.of(NODE), List.of(), Set.of(), Set.of()));
        when(metadata.topicIds()).thenReturn(Map.of("topic", TOPIC));
        when(metadata.topicNames()).thenReturn(Map.of(TOPIC, "topic"));
        when(metadata.currentLeader(PARTITION.topicPartition()))
            .thenReturn(new Metadata.LeaderAndEpoch(Optional.of(NODE), Optional.of(1)));
        return metadata;
    }
}
