package org.apache.kafka.clients.consumer.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.consumer.internals.events.ShareAcknowledgementEventHandler;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ShareFetchRequestData;
import org.apache.kafka.common.message.ShareFetchResponseData.PartitionData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ShareFetchRequest;
import org.apache.kafka.common.requests.ShareFetchResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.junit.jupiter.api.Test;

/**
 * A topic is deleted and created again, and the metadata of the consumer has its new topic id. The consumer goes on to
 * fetch by the former one, which the broker answers with UNKNOWN_SERVER_ERROR, and gets nothing of the new topic.
 */
public class ShareConsumerTopicAgainTest {
    private static final Node NODE = new Node(1, "one", 9092);
    private static final TopicPartition AGAIN = new TopicPartition("again", 0);
    private static final Uuid FORMER = Uuid.randomUuid();
    private static final Uuid NEW = Uuid.randomUuid();

    private final ShareConsumerMetadata metadata = mock(ShareConsumerMetadata.class);
    private final ShareConsumeRequestManager manager = manager();

    @Test
    public void testFetchesByNewTopicIdOnceMetadataHasIt() {
        assertEquals("forgets former, adds new", fetched(Errors.UNKNOWN_SERVER_ERROR), "what the next ShareFetches do");
    }

    /** The control, in which the broker answers as for a topic id that it does not know: passes. */
    @Test
    public void testControlWithUnknownTopicId() {
        assertEquals("forgets former, adds new", fetched(Errors.UNKNOWN_TOPIC_ID), "what the next ShareFetches do");
    }

    /** Has the former topic answered with this error, and returns what changes in the share session then. */
    private String fetched(Errors error) {
        answered(Errors.NONE);
        when(metadata.topicIds()).thenReturn(Map.of("again", NEW));
        for (int i = 0; i < 5; i++) {
            ShareFetchRequestData sent = answered(error).data();
            String said = said("forgets ", sent.forgottenTopicsData().stream().map(topic -> topic.topicId()).toList())
                + said("adds ", sent.topics().stream().map(topic -> topic.topicId()).toList());
            if (!said.isEmpty()) {
                return said.substring(2);
            }
        }
        return "nothing";
    }

    private static String said(String what, List<Uuid> topics) {
        return topics.stream().map(topic -> ", " + what + (topic.equals(FORMER) ? "former" : "new"))
            .collect(Collectors.joining());
    }

    /** Sends a ShareFetch, and answers it with this error of the former topic. */
    private ShareFetchRequest answered(Errors error) {
        manager.fetch(Map.of());
        NetworkClientDelegate.UnsentRequest request = manager.poll(0).unsentRequests.get(0);
        TopicIdPartition former = new TopicIdPartition(FORMER, AGAIN);
        LinkedHashMap<TopicIdPartition, PartitionData> data = new LinkedHashMap<>();
        data.put(former, ShareFetchResponse.partitionResponse(former, error));
        request.handler().onComplete(new ClientResponse(new RequestHeader(ApiKeys.SHARE_FETCH,
            ApiKeys.SHARE_FETCH.latestVersion(), "client", 0), null, NODE.idString(), 0, 0, false, null, null,
            ShareFetchResponse.of(Errors.NONE, 0, data, List.of(), 30000)));
        return (ShareFetchRequest) request.requestBuilder().build();
    }

    private ShareConsumeRequestManager manager() {
        SubscriptionState subscriptions = mock(SubscriptionState.class);
        when(metadata.fetch()).thenReturn(new Cluster("cluster", List.of(NODE), List.of(), Set.of(), Set.of()));
        when(metadata.topicNames()).thenReturn(Map.of(FORMER, "again", NEW, "again"));
        when(metadata.currentLeader(any())).thenReturn(new Metadata.LeaderAndEpoch(Optional.of(NODE), Optional.of(1)));
        when(metadata.topicIds()).thenReturn(Map.of("again", FORMER));
        when(subscriptions.fetchablePartitions(any())).thenReturn(List.of(AGAIN));
        ShareConsumeRequestManager made = new ShareConsumeRequestManager(Time.SYSTEM, new LogContext(), "group", metadata,
            subscriptions, new ShareFetchConfig(1, 1 << 20, 500, 1 << 20, 500, true, "", IsolationLevel.READ_UNCOMMITTED,
                ShareAcquireMode.BATCH_OPTIMIZED), new ShareFetchBuffer(new LogContext()),
            new ShareAcknowledgementEventHandler(new LinkedBlockingQueue<>()), mock(ShareFetchMetricsManager.class), 100, 1000);
        made.onMemberEpochUpdated(Optional.of(1), Uuid.randomUuid().toString());
        return made;
    }
}
