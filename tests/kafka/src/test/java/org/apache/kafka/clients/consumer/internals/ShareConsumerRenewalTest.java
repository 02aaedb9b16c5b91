package org.apache.kafka.clients.consumer.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
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
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ShareAcknowledgeResponse;
import org.apache.kafka.common.requests.ShareFetchResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.junit.jupiter.api.Test;

/**
 * An application renews a record that node 1 leads and accepts one that node 2 leads, in one commitSync. If node 2
 * answers last, poll() returns nothing from then on, neither the renewed record nor new ones: ShareConsumerImpl
 * collects nothing while its fetch has a record whose renewal is not answered.
 */
public class ShareConsumerRenewalTest {
    private static final Uuid TOPIC = Uuid.randomUuid();
    private static final TopicIdPartition RENEWED = new TopicIdPartition(TOPIC, new TopicPartition("topic", 0));
    private static final TopicIdPartition ACCEPTED = new TopicIdPartition(TOPIC, new TopicPartition("topic", 1));
    private static final Node NODE_1 = new Node(1, "one", 9092);
    private static final Node NODE_2 = new Node(2, "two", 9092);

    private final LinkedBlockingQueue<ShareAcknowledgementEvent> events = new LinkedBlockingQueue<>();
    private final ShareFetch<String, String> currentFetch = currentFetch();
    private final ShareConsumeRequestManager manager = manager();

    @Test
    public void testRenewedRecordIsReturnedWhenOtherNodeAnswersLast() {
        commitSync(NODE_1, NODE_2);
        assertEquals(1, recordsOfNextPoll(), "records that the next poll has, after the renewal of one succeeded");
    }

    /** The control, in which the node that renews answers last: passes. */
    @Test
    public void testControlInOtherOrder() {
        commitSync(NODE_2, NODE_1);
        assertEquals(1, recordsOfNextPoll(), "records that the next poll has, after the renewal of one succeeded");
    }

    /** RENEW of the record of node 1 and ACCEPT of that of node 2; the nodes answer in this order. */
    private void commitSync(Node... answering) {
        currentFetch.acknowledge(new ConsumerRecord<>("topic", 0, 0, "", ""), AcknowledgeType.RENEW);
        currentFetch.acknowledge(new ConsumerRecord<>("topic", 1, 0, "", ""), AcknowledgeType.ACCEPT);
        CompletableFuture<?> committed = manager.commitSync(currentFetch.takeAcknowledgedRecords(), Long.MAX_VALUE);
        Map<Integer, NetworkClientDelegate.UnsentRequest> requests = requests();
        for (Node node : answering) {
            TopicIdPartition partition = node == NODE_1 ? RENEWED : ACCEPTED;
            answer(requests.get(node.id()), ApiKeys.SHARE_ACKNOWLEDGE, ShareAcknowledgeResponse.of(Errors.NONE, 0,
                new LinkedHashMap<>(Map.of(partition, ShareAcknowledgeResponse.partitionResponse(partition, Errors.NONE))),
                List.of(), 30000));
        }
        assertTrue(committed.isDone());
    }

    /** What ShareConsumerImpl does with events and in collect(). */
    private int recordsOfNextPoll() {
        events.stream().filter(ShareAcknowledgementEvent::checkForRenewAcknowledgements)
            .forEach(event -> currentFetch.renew(event.acknowledgementsMap(), event.acquisitionLockTimeoutMs()));
        currentFetch.takeRenewedRecords();
        return currentFetch.numRecords();
    }

    /** Record 0 of either partition. */
    private static ShareFetch<String, String> currentFetch() {
        ShareFetch<String, String> fetch = ShareFetch.empty();
        Map.of(1, RENEWED, 2, ACCEPTED).forEach((node, partition) -> {
            ShareInFlightBatch<String, String> batch = new ShareInFlightBatch<>(node, partition, Optional.of(30000));
            batch.addRecord(new ConsumerRecord<>("topic", partition.partition(), 0, "", ""));
            fetch.add(partition, batch);
        });
        return fetch;
    }

    /** A manager with a share session at either node. */
    private ShareConsumeRequestManager manager() {
        ShareConsumerMetadata metadata = mock(ShareConsumerMetadata.class);
        when(metadata.fetch()).thenReturn(new Cluster("cluster", List.of(NODE_1, NODE_2), List.of(),
            Collections.emptySet(), Collections.emptySet()));
        when(metadata.topicIds()).thenReturn(Map.of("topic", TOPIC));
        when(metadata.topicNames()).thenReturn(Map.of(TOPIC, "topic"));
        when(metadata.currentLeader(RENEWED.topicPartition()))
            .thenReturn(new Metadata.LeaderAndEpoch(Optional.of(NODE_1), Optional.of(1)));
        when(metadata.currentLeader(ACCEPTED.topicPartition()))
            .thenReturn(new Metadata.LeaderAndEpoch(Optional.of(NODE_2), Optional.of(1)));
        SubscriptionState subscriptions = mock(SubscriptionState.class);
        when(subscriptions.fetchablePartitions(any()))
            .thenReturn(Arrays.asList(RENEWED.topicPartition(), ACCEPTED.topicPartition()));
        ShareConsumeRequestManager made = new ShareConsumeRequestManager(Time.SYSTEM, new LogContext(), "group", metadata,
            subscriptions, new ShareFetchConfig(1, 1 << 20, 500, 1 << 20, 500, true, "", IsolationLevel.READ_UNCOMMITTED,
                ShareAcquireMode.BATCH_OPTIMIZED), new ShareFetchBuffer(new LogContext()),
            new ShareAcknowledgementEventHandler(events), mock(ShareFetchMetricsManager.class), 100, 1000);
        made.onMemberEpochUpdated(Optional.of(1), Uuid.randomUuid().toString());
        made.fetch(Map.of());
        made.poll(0).unsentRequests.forEach(request -> answer(request, ApiKeys.SHARE_FETCH,
            ShareFetchResponse.of(Errors.NONE, 0, new LinkedHashMap<>(), List.of(), 30000)));
        return made;
    }

    private Map<Integer, NetworkClientDelegate.UnsentRequest> requests() {
        Map<Integer, NetworkClientDelegate.UnsentRequest> requests = new TreeMap<>();
        manager.poll(0).unsentRequests.forEach(request -> requests.put(request.node().get().id(), request));
        return requests;
    }

    private static void answer(NetworkClientDelegate.UnsentRequest request, ApiKeys api, AbstractResponse response) {
        request.handler().onComplete(new ClientResponse(new RequestHeader(api, api.latestVersion(), "client", 0), null,
            request.node().get().idString(), 0, 0, false, null, null, response));
    }
}
