package org.apache.kafka.clients.consumer.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

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
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgementEvent;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgementEventHandler;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ShareFetchResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A record of node 1 is delivered. The node is shut down, the leader moves to node 2, and the metadata has node 1 no
 * more. Then the application accepts the record, and polls: the acknowledgement is neither sent nor completed.
 */
public class ShareConsumerMissingNodeTest {
    private static final Uuid TOPIC = Uuid.randomUuid();
    private static final TopicIdPartition PARTITION = new TopicIdPartition(TOPIC, new TopicPartition("topic", 0));
    private static final Node NODE_1 = new Node(1, "one", 9092);
    private static final Node NODE_2 = new Node(2, "two", 9092);

    private final LinkedBlockingQueue<ShareAcknowledgementEvent> events = new LinkedBlockingQueue<>();
    private final ShareConsumerMetadata metadata = mock(ShareConsumerMetadata.class);
    private final ShareConsumeRequestManager manager = manager();

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
