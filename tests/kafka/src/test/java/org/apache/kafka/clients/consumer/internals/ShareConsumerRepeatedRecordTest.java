package org.apache.kafka.clients.consumer.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.internals.events.ApplicationEventHandler;
import org.apache.kafka.clients.consumer.internals.events.CompletableEventReaper;
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
import org.apache.kafka.common.message.ShareFetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ShareFetchResponse;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.junit.jupiter.api.Test;

/**
 * While node 2 does not answer a renewal, polls return nothing, and what node 1 gives waits in the buffer. If the lock
 * of a record ends there, node 1 gives it again, and a poll returns it twice. From then on each poll throws, although
 * the application has acknowledged all that it got. For node 1 is asked for more while records wait.
 */
public class ShareConsumerRepeatedRecordTest {
    private static final Uuid TOPIC = Uuid.randomUuid();
    private static final TopicIdPartition FIRST = new TopicIdPartition(TOPIC, new TopicPartition("topic", 0));
    private static final TopicIdPartition RENEWED = new TopicIdPartition(TOPIC, new TopicPartition("topic", 1));
    private static final Node NODE_1 = new Node(1, "one", 9092);
    private static final Node NODE_2 = new Node(2, "two", 9092);

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
    private final ShareConsumerImpl<String, String> consumer = consumer();
    private final Map<Node, NetworkClientDelegate.UnsentRequest> requests = new HashMap<>();

    @Test
    public void testPollsGoOnAfterLockEndsWhileRenewalIsPending() {
        assertEquals("nothing", thrownAfterRenewal(2, false), "what a poll throws when all records are acknowledged");
    }

    /** The control, in which the lock does not end: passes. */
    @Test
    public void testControlWithOneAcquisition() {
        assertEquals("nothing", thrownAfterRenewal(1, false), "what a poll throws when all records are acknowledged");
    }

    /** The control, in which the renewal is answered before: passes. */
    @Test
    public void testControlWithAnsweredRenewal() {
        assertEquals("nothing", thrownAfterRenewal(2, true), "what a poll throws when all records are acknowledged");
    }

    @Test
    public void testNothingIsFetchedWhileRecordsWaitForRenewal() {
        assertEquals(Set.of(), askedAfterRenewal(false), "whom a poll asks for records while some wait");
    }

    /** The control, in which the renewal is answered before: passes. */
    @Test
    public void testControlOfFetchWithAnsweredRenewal() {
        assertEquals(Set.of(), askedAfterRenewal(true), "whom a poll asks for records while some wait");
    }

    /** Renews a record of node 2, and is given one of node 1; returns whom the next poll asks. */
    private Set<Node> askedAfterRenewal(boolean answersFirst) {
        renew(answersFirst);
        for (int i = 0; i < 9 && !requests.containsKey(NODE_1); i++) {
            poll(AcknowledgeType.ACCEPT);
        }
        gives(NODE_1, FIRST, 0, 1);
        requests.clear();
        poll(AcknowledgeType.ACCEPT);
        return requests.keySet();
    }

    /** Renews a record of node 2, which answers or does not. */
    private void renew(boolean answers) {
        poll(AcknowledgeType.ACCEPT);
        gives(NODE_1, FIRST, 0, 0);
        gives(NODE_2, RENEWED, 0, 1);
        poll(AcknowledgeType.RENEW);
        poll(AcknowledgeType.ACCEPT);
        if (answers) {
            answerRenewal();
            poll(AcknowledgeType.ACCEPT);
            poll(AcknowledgeType.ACCEPT);
        }
    }

    /** Renews a record of node 2, and is given one of node 1 so many times before or after node 2 answers. */
    private String thrownAfterRenewal(int acquisitions, boolean answersFirst) {
        renew(answersFirst);
        for (int count = 1; count <= acquisitions; count++) {
            while (!requests.containsKey(NODE_1)) {
                poll(AcknowledgeType.ACCEPT);
            }
            gives(NODE_1, FIRST, 0, count);
            poll(AcknowledgeType.ACCEPT);
        }
        if (!answersFirst) {
            answerRenewal();
        }
        try {
            for (int i = 0; i < 5; i++) {
                poll(AcknowledgeType.ACCEPT);
            }
            return "nothing";
        } catch (IllegalStateException thrown) {
            return thrown.getMessage();
        }
    }

    private void poll(AcknowledgeType type) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ZERO)) {
            consumer.acknowledge(record, type);
        }
    }

    /** A node answers the fetch that was sent to it with a record, or with none if the delivery count is 0. */
    private void gives(Node node, TopicIdPartition partition, long offset, int count) {
        LinkedHashMap<TopicIdPartition, ShareFetchResponseData.PartitionData> rows = new LinkedHashMap<>();
        if (count > 0) {
            rows.put(partition, new ShareFetchResponseData.PartitionData().setPartitionIndex(partition.partition())
                .setRecords(MemoryRecords.withRecords(offset, Compression.NONE, new SimpleRecord(new byte[] {'r'})))
                .setAcquiredRecords(List.of(new ShareFetchResponseData.AcquiredRecords().setFirstOffset(offset)
                    .setLastOffset(offset).setDeliveryCount((short) count))));
        }
        answer(requests.remove(node), ApiKeys.SHARE_FETCH, ShareFetchResponse.of(Errors.NONE, 0, rows, List.of(), 30000));
    }

    /** Node 2 answers the fetch that renews. */
    private void answerRenewal() {
        answer(requests.remove(NODE_2), ApiKeys.SHARE_FETCH, ShareFetchResponse.of(Errors.NONE, 0, new LinkedHashMap<>(
            Map.of(RENEWED, ShareFetchResponse.partitionResponse(RENEWED, Errors.NONE))), List.of(), 30000));
    }

    private static void answer(NetworkClientDelegate.UnsentRequest request, ApiKeys api, AbstractResponse response) {
        request.handler().onComplete(new ClientResponse(new RequestHeader(api, api.latestVersion(), "client", 0), null,
            request.node().get().idString(), 0, 0, false, null, null, response));
    }

    private ShareConsumerImpl<String, String> consumer() {
        subscriptions.subscribeToShareGroup(Set.of("topic"));
        subscriptions.assignFromSubscribed(List.of(FIRST.topicPartition(), RENEWED.topicPartition()));
        manager.onMemberEpochUpdated(Optional.of(1), Uuid.randomUuid().toString());
        ApplicationEventHandler network = mock(ApplicationEventHandler.class);
        doAnswer(call -> {
            if (call.getArgument(0) instanceof SharePollEvent poll) {
                poll.completeSuccessfully();
            } else if (call.getArgument(0) instanceof ShareFetchEvent fetch) {
                manager.fetch(fetch.acknowledgementsMap());
            }
            manager.poll(0).unsentRequests.forEach(request -> requests.put(request.node().get(), request));
            return null;
        }).when(network).add(any());
        Metrics metrics = new Metrics();
        return new ShareConsumerImpl<>(log, "client", new StringDeserializer(), new StringDeserializer(), buffer,
            new ShareFetchCollector<>(log, metadata, subscriptions, config, new Deserializers<>(new StringDeserializer(),
                new StringDeserializer(), metrics)), mock(ShareFetchMetricsManager.class), Time.SYSTEM, network, events,
            new LinkedBlockingQueue<>(), mock(CompletableEventReaper.class), metrics, subscriptions, metadata, 1000, 1000,
            "group", "explicit");
    }

    private static ShareConsumerMetadata metadata() {
        ShareConsumerMetadata metadata = mock(ShareConsumerMetadata.class);
        when(metadata.fetch()).thenReturn(new Cluster("cluster", List.of(NODE_1, NODE_2), List.of(),
            Collections.emptySet(), Collections.emptySet()));
        when(metadata.topicIds()).thenReturn(Map.of("topic", TOPIC));
        when(metadata.topicNames()).thenReturn(Map.of(TOPIC, "topic"));
        when(metadata.currentLeader(FIRST.topicPartition()))
            .thenReturn(new Metadata.LeaderAndEpoch(Optional.of(NODE_1), Optional.of(1)));
        when(metadata.currentLeader(RENEWED.topicPartition()))
            .thenReturn(new Metadata.LeaderAndEpoch(Optional.of(NODE_2), Optional.of(1)));
        return metadata;
    }
}
