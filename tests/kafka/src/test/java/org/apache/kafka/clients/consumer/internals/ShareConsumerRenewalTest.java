package org.apache.kafka.clients.consumer.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.internals.events.ApplicationEventHandler;
import org.apache.kafka.clients.consumer.internals.events.CompletableEventReaper;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgeSyncEvent;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgementEvent;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgementEventHandler;
import org.apache.kafka.clients.consumer.internals.events.ShareFetchEvent;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ShareFetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ShareAcknowledgeResponse;
import org.apache.kafka.common.requests.ShareFetchResponse;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.junit.jupiter.api.Test;

/**
 * An application renews a record that node 1 leads and accepts one that node 2 leads, in one commitSync. If node 2
 * answers last, poll() returns nothing from then on, neither the renewed record nor new ones, without an error. And a
 * poll() that sends a renewal itself returns nothing until its timeout, although the renewal is answered.
 */
public class ShareConsumerRenewalTest {
    private static final Uuid TOPIC = Uuid.randomUuid();
    private static final TopicIdPartition RENEWED = new TopicIdPartition(TOPIC, new TopicPartition("topic", 0));
    private static final TopicIdPartition ACCEPTED = new TopicIdPartition(TOPIC, new TopicPartition("topic", 1));
    private static final Node NODE_1 = new Node(1, "one", 9092);
    private static final Node NODE_2 = new Node(2, "two", 9092);

    private final LinkedBlockingQueue<ShareAcknowledgementEvent> events = new LinkedBlockingQueue<>();
    private final ShareConsumeRequestManager manager = manager();

    @Test
    public void testPollReturnsRecordsWhenRenewingNodeAnswersFirst() {
        assertEquals(List.of("renewed", "new"), polledAfterRenewal(NODE_1, NODE_2), "what polls return");
    }

    /** The control, in which the node that renews answers last: passes. */
    @Test
    public void testControlInOtherOrder() {
        assertEquals(List.of("renewed", "new"), polledAfterRenewal(NODE_2, NODE_1), "what polls return");
    }

    /** A poll sends the renewal, which is answered at once: the record is due again, long before the poll times out. */
    @Test
    public void testPollReturnsRecordThatItRenews() {
        assertEquals(List.of("renewed"), polledOnce(true), "what a poll returns");
    }

    /** The control, in which commitSync sends the renewal before: passes. */
    @Test
    public void testControlRenewedByCommit() {
        assertEquals(List.of("renewed"), polledOnce(false), "what a poll returns");
    }

    /** Renews a record of node 1, by the poll itself or by a commitSync before it; returns what one poll does. */
    private List<String> polledOnce(boolean byPoll) {
        ShareConsumerImpl<String, String> consumer = consumer(fetched(NODE_1, RENEWED, 0, "renewed"), event -> {
            if (event instanceof ShareAcknowledgeSyncEvent commit) {
                manager.commitSync(commit.acknowledgementsMap(), Long.MAX_VALUE).thenAccept(commit.future()::complete);
                manager.poll(0).unsentRequests.forEach(request -> answerCommit(request, RENEWED));
            } else if (event instanceof ShareFetchEvent fetch && !fetch.acknowledgementsMap().isEmpty()) {
                manager.fetch(fetch.acknowledgementsMap());
                manager.poll(0).unsentRequests.stream()
                    .filter(request -> request.node().get() == NODE_1)
                    .forEach(request -> answerFetch(request, RENEWED));
            }
        });
        consumer.poll(Duration.ofMillis(1)).forEach(record -> consumer.acknowledge(record, AcknowledgeType.RENEW));
        if (!byPoll) {
            consumer.commitSync();
        }
        List<String> polled = new ArrayList<>();
        consumer.poll(Duration.ofMillis(500)).forEach(record -> polled.add(record.value()));
        return polled;
    }

    /** Renews a record of node 1 and accepts one of node 2 in a commitSync, which the nodes answer in this order. */
    private List<String> polledAfterRenewal(Node... answering) {
        ShareFetch<String, String> first = fetched(NODE_1, RENEWED, 0, "renewed");
        fetched(NODE_2, ACCEPTED, 0, "accepted", first);
        ShareConsumerImpl<String, String> consumer = consumer(first, event -> {
            if (event instanceof ShareAcknowledgeSyncEvent commit) {
                manager.commitSync(commit.acknowledgementsMap(), Long.MAX_VALUE).thenAccept(commit.future()::complete);
                Map<Node, NetworkClientDelegate.UnsentRequest> requests = manager.poll(0).unsentRequests.stream()
                    .collect(Collectors.toMap(request -> request.node().get(), request -> request));
                List.of(answering).forEach(node -> answerCommit(requests.get(node), node == NODE_1 ? RENEWED : ACCEPTED));
            }
        });
        consumer.poll(Duration.ofMillis(1)).forEach(record -> consumer.acknowledge(record,
            record.value().equals("renewed") ? AcknowledgeType.RENEW : AcknowledgeType.ACCEPT));
        consumer.commitSync();
        List<String> polled = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            consumer.poll(Duration.ofMillis(1)).forEach(record -> {
                polled.add(record.value());
                consumer.acknowledge(record, AcknowledgeType.ACCEPT);
            });
        }
        return polled;
    }

    /** A consumer that has fetched this, and a new record of node 1 then. */
    @SuppressWarnings("unchecked")
    private ShareConsumerImpl<String, String> consumer(ShareFetch<String, String> first, Consumer<Object> takes) {
        ApplicationEventHandler network = mock(ApplicationEventHandler.class);
        when(network.maximumTimeToWait()).thenReturn(10L);  // Before a poll looks again.
        doAnswer(call -> {
            takes.accept(call.getArgument(0));
            return null;
        }).when(network).add(any());
        ShareFetchCollector<String, String> buffered = mock(ShareFetchCollector.class);
        when(buffered.collect(any())).thenReturn(first, fetched(NODE_1, RENEWED, 1, "new"), ShareFetch.empty());
        return new ShareConsumerImpl<>(new LogContext(), "client",
            new StringDeserializer(), new StringDeserializer(), new ShareFetchBuffer(new LogContext()), buffered,
            mock(ShareFetchMetricsManager.class), Time.SYSTEM, network, events, new LinkedBlockingQueue<>(),
            mock(CompletableEventReaper.class), new Metrics(), mock(SubscriptionState.class),
            mock(ShareConsumerMetadata.class), 1000, 1000, "group", "explicit");
    }

    private static ShareFetch<String, String> fetched(Node node, TopicIdPartition partition, long offset, String value) {
        ShareFetch<String, String> fetch = ShareFetch.empty();
        fetched(node, partition, offset, value, fetch);
        return fetch;
    }

    private static void fetched(Node node, TopicIdPartition partition, long offset, String value,
            ShareFetch<String, String> fetch) {
        ShareInFlightBatch<String, String> batch = new ShareInFlightBatch<>(node.id(), partition, Optional.of(30000));
        batch.addRecord(new ConsumerRecord<>("topic", partition.partition(), offset, "", value));
        fetch.add(partition, batch);
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
        made.poll(0).unsentRequests.forEach(ShareConsumerRenewalTest::answerFetch);
        return made;
    }

    private static void answerCommit(NetworkClientDelegate.UnsentRequest request, TopicIdPartition partition) {
        answer(request, ApiKeys.SHARE_ACKNOWLEDGE, ShareAcknowledgeResponse.of(Errors.NONE, 0,
            new LinkedHashMap<>(Map.of(partition, ShareAcknowledgeResponse.partitionResponse(partition, Errors.NONE))),
            List.of(), 30000));
    }

    private static void answerFetch(NetworkClientDelegate.UnsentRequest request, TopicIdPartition... acknowledged) {
        LinkedHashMap<TopicIdPartition, ShareFetchResponseData.PartitionData> partitions = new LinkedHashMap<>();
        for (TopicIdPartition each : acknowledged) {
            partitions.put(each, new ShareFetchResponseData.PartitionData().setPartitionIndex(each.partition()));
        }
        answer(request, ApiKeys.SHARE_FETCH, ShareFetchResponse.of(Errors.NONE, 0, partitions, List.of(), 30000));
    }

    private static void answer(NetworkClientDelegate.UnsentRequest request, ApiKeys api, AbstractResponse response) {
        request.handler().onComplete(new ClientResponse(new RequestHeader(api, api.latestVersion(), "client", 0), null,
            request.node().get().idString(), 0, 0, false, null, null, response));
    }
}
