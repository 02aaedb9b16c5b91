package org.apache.kafka.clients.consumer.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
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
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ShareFetchResponse;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A record of node 1 is delivered. The node is shut down, the leader moves to node 2, and the metadata has node 1 no
 * more. Then the application accepts the record, and polls: the acknowledgement is neither sent nor completed. If it
 * renews the record instead, polls return nothing from then on.
 */
public class ShareConsumerMissingNodeTest {
    private static final Uuid TOPIC = Uuid.randomUuid();
    private static final TopicIdPartition PARTITION = new TopicIdPartition(TOPIC, new TopicPartition("topic", 0));
    private static final Node NODE_1 = new Node(1, "one", 9092);
    private static final Node NODE_2 = new Node(2, "two", 9092);

    private final LinkedBlockingQueue<ShareAcknowledgementEvent> events = new LinkedBlockingQueue<>();
    private final ShareConsumerMetadata metadata = mock(ShareConsumerMetadata.class);
    private final ShareConsumeRequestManager manager = manager();
    private Node[] nodes = {NODE_2};

    @BeforeEach
    public void begin() {
        manager.onMemberEpochUpdated(Optional.of(1), Uuid.randomUuid().toString());
        manager.fetch(Map.of());
        pollsWhile(NODE_1, NODE_1, NODE_2);
    }

    @Test
    public void testAcknowledgementOfRecordOfMissingNodeIsCompleted() {
        pollsWhile(NODE_2, NODE_2);
        manager.fetch(accepted());
        assertEquals(1, toldOnceNodeIsBack(), "how often the application is told of the acknowledgement");
    }

    /** The control, in which the application commits instead: passes. */
    @Test
    public void testControlWithCommit() {
        pollsWhile(NODE_2, NODE_2);
        manager.commitAsync(accepted(), Long.MAX_VALUE);
        assertEquals(1, toldOnceNodeIsBack(), "how often the application is told of the acknowledgement");
    }

    /** The control, in which it accepts the record before the node is missing: passes. */
    @Test
    public void testControlWithAcceptanceBefore() {
        manager.fetch(accepted());
        assertEquals(1, toldOnceNodeIsBack(), "how often the application is told of the acknowledgement");
    }

    @Test
    public void testPollsGoOnAfterRenewalOfRecordOfMissingNode() {
        assertEquals(List.of("new"), polledAfter(AcknowledgeType.RENEW, false), "what polls return");
    }

    /** The control, in which the application accepts the record: passes. */
    @Test
    public void testControlOfPollsWithAcceptance() {
        assertEquals(List.of("new"), polledAfter(AcknowledgeType.ACCEPT, false), "what polls return");
    }

    /** The control, in which the application commits the renewal: passes. */
    @Test
    public void testControlOfPollsWithCommit() {
        assertEquals(List.of("new"), polledAfter(AcknowledgeType.RENEW, true), "what polls return");
    }

    /** Acknowledges a record of node 1 while the metadata has it no more; returns what polls bring until after it is back. */
    @SuppressWarnings("unchecked")
    private List<String> polledAfter(AcknowledgeType type, boolean commits) {
        ApplicationEventHandler network = mock(ApplicationEventHandler.class);
        doAnswer(call -> {
            if (call.getArgument(0) instanceof SharePollEvent poll) {
                poll.completeSuccessfully();
            } else if (call.getArgument(0) instanceof ShareFetchEvent fetch) {
                manager.fetch(fetch.acknowledgementsMap());
            } else if (call.getArgument(0) instanceof ShareAcknowledgeAsyncEvent commit) {
                manager.commitAsync(commit.acknowledgementsMap(), Long.MAX_VALUE);
            }
            pollsWhile(NODE_2, nodes);
            return null;
        }).when(network).add(any());
        ShareFetchCollector<String, String> buffered = mock(ShareFetchCollector.class);
        when(buffered.collect(any())).thenReturn(fetched(NODE_1, 0, "old"), fetched(NODE_2, 1, "new"), ShareFetch.empty());
        ShareConsumerImpl<String, String> consumer = new ShareConsumerImpl<>(new LogContext(), "client",
            new StringDeserializer(), new StringDeserializer(), new ShareFetchBuffer(new LogContext()), buffered,
            mock(ShareFetchMetricsManager.class), Time.SYSTEM, network, events, new LinkedBlockingQueue<>(),
            mock(CompletableEventReaper.class), new Metrics(), mock(SubscriptionState.class), metadata, 1000, 1000,
            "group", "explicit");
        consumer.poll(Duration.ofMillis(1)).forEach(record -> consumer.acknowledge(record, type));
        if (commits) {
            consumer.commitAsync();
        }
        List<String> polled = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            nodes = i < 5 ? nodes : new Node[] {NODE_1, NODE_2};
            consumer.poll(Duration.ofMillis(1)).forEach(record -> {
                polled.add(record.value());
                consumer.acknowledge(record, AcknowledgeType.ACCEPT);
            });
        }
        return polled;
    }

    private static ShareFetch<String, String> fetched(Node node, long offset, String value) {
        ShareInFlightBatch<String, String> batch = new ShareInFlightBatch<>(node.id(), PARTITION, Optional.of(30000));
        batch.addRecord(new ConsumerRecord<>("topic", 0, offset, "", value));
        ShareFetch<String, String> fetch = ShareFetch.empty();
        fetch.add(PARTITION, batch);
        return fetch;
    }

    private static Map<TopicIdPartition, NodeAcknowledgements> accepted() {
        Acknowledgements acknowledgements = Acknowledgements.empty();
        acknowledgements.add(0, AcknowledgeType.ACCEPT);
        return Map.of(PARTITION, new NodeAcknowledgements(NODE_1.id(), acknowledgements));
    }

    /** Polls while the partition has this leader and the metadata these nodes, twice, and answers what is asked. */
    private void pollsWhile(Node leader, Node... nodes) {
        when(metadata.fetch()).thenReturn(new Cluster("cluster", Arrays.asList(nodes), List.of(), Set.of(), Set.of()));
        when(metadata.currentLeader(PARTITION.topicPartition()))
            .thenReturn(new Metadata.LeaderAndEpoch(Optional.of(leader), Optional.of(leader.id())));
        ApiKeys api = ApiKeys.SHARE_FETCH;
        for (int i = 0; i < 2; i++) {
            manager.poll(0).unsentRequests.forEach(request -> request.handler().onComplete(new ClientResponse(
                new RequestHeader(api, api.latestVersion(), "client", 0), null, request.node().get().idString(), 0, 0,
                false, null, null, ShareFetchResponse.of(Errors.NONE, 0, new LinkedHashMap<>(), List.of(), 30000))));
        }
    }

    /** How many acknowledgements have ended once node 1 is back, as a follower. */
    private int toldOnceNodeIsBack() {
        pollsWhile(NODE_2, NODE_2);
        pollsWhile(NODE_2, NODE_1, NODE_2);
        return events.stream().mapToInt(event -> event.acknowledgementsMap().size()).sum();
    }

    private ShareConsumeRequestManager manager() {
        LogContext log = new LogContext();
        when(metadata.topicIds()).thenReturn(Map.of("topic", TOPIC));
        when(metadata.topicNames()).thenReturn(Map.of(TOPIC, "topic"));
        SubscriptionState subscriptions = mock(SubscriptionState.class);
        when(subscriptions.fetchablePartitions(any())).thenReturn(List.of(PARTITION.topicPartition()));
        return new ShareConsumeRequestManager(Time.SYSTEM, log, "group", metadata, subscriptions, new ShareFetchConfig(1,
            1 << 20, 500, 1 << 20, 500, true, "", IsolationLevel.READ_UNCOMMITTED, ShareAcquireMode.BATCH_OPTIMIZED),
            new ShareFetchBuffer(log), new ShareAcknowledgementEventHandler(events), mock(ShareFetchMetricsManager.class),
            100, 1000);
    }
}
