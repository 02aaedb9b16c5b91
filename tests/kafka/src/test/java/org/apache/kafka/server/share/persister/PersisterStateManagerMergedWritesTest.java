package org.apache.kafka.server.share.persister;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.WriteShareGroupStateRequest;
import org.apache.kafka.common.requests.WriteShareGroupStateResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.InterBrokerSendThread;
import org.apache.kafka.server.util.RequestAndCompletionHandler;
import org.apache.kafka.server.util.timer.Timer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Leadership of a share-partition moves away and back while its writes wait for the coordinator: the writes of
 * both leader epochs go into one request, whose response has one answer for each share-partition. What a member
 * acknowledged under the old epoch is then confirmed and not saved, and its records are delivered again.
 */
public class PersisterStateManagerMergedWritesTest {
    private static final Uuid TOPIC = Uuid.randomUuid();

    private PersisterStateManager manager;
    private InterBrokerSendThread sender;

    @Test
    public void testRequestHasOneWriteOfASharePartition() throws Exception {
        write(0, 3);
        RequestAndCompletionHandler first = sent().get(0);
        write(0, 4);
        write(0, 5);
        assertEquals(List.of(), sent(), "one write is under way, and others wait");
        answer(first);
        assertEquals(List.of("partition 0, leader epoch 4"), contents(sent().get(0)),
            "the writes of one share-partition in one request");
    }

    /** The control, with two partitions: they are rightly in one request. Passes. */
    @Test
    public void testControlWithTwoPartitions() throws Exception {
        write(0, 3);
        RequestAndCompletionHandler first = sent().get(0);
        write(0, 4);
        write(1, 5);
        assertEquals(List.of(), sent(), "one write is under way, and others wait");
        answer(first);
        assertEquals(List.of("partition 0, leader epoch 4", "partition 1, leader epoch 5"), contents(sent().get(0)));
    }

    @BeforeEach
    public void setUp() throws Exception {
        ShareCoordinatorMetadataCacheHelper cache = mock(ShareCoordinatorMetadataCacheHelper.class);
        when(cache.containsTopic(any())).thenReturn(true);
        when(cache.getShareCoordinator(any(), any())).thenReturn(new Node(1, "coordinator", 9092));
        manager = new PersisterStateManager(mock(KafkaClient.class), cache, Time.SYSTEM, mock(Timer.class));
        Field field = PersisterStateManager.class.getDeclaredField("sender");
        field.setAccessible(true);
        sender = (InterBrokerSendThread) field.get(manager);
    }

    private void write(int partition, int leaderEpoch) {
        manager.enqueue(manager.new WriteStateHandler("group", TOPIC, partition, 0, leaderEpoch, 0, 0,
            List.of(new PersisterStateBatch(0, 9, (byte) 2, (short) 1)), new CompletableFuture<>(), null));
    }

    /** What the thread of the manager sends until nothing is left to do: it takes one of its queue each time. */
    private List<RequestAndCompletionHandler> sent() {
        List<RequestAndCompletionHandler> requests = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            requests.addAll(sender.generateRequests());
        }
        return requests;
    }

    private static List<String> contents(RequestAndCompletionHandler request) {
        return ((WriteShareGroupStateRequest) request.request.build()).data().topics().stream()
            .flatMap(topic -> topic.partitions().stream())
            .map(write -> "partition " + write.partition() + ", leader epoch " + write.leaderEpoch()).toList();
    }

    private static void answer(RequestAndCompletionHandler request) {
        request.handler.onComplete(new ClientResponse(
            new RequestHeader(ApiKeys.WRITE_SHARE_GROUP_STATE, (short) 0, "client", 0), null, "1", 0, 0, false, null, null,
            new WriteShareGroupStateResponse(WriteShareGroupStateResponse.toErrorResponseData(TOPIC, 0, Errors.NONE, ""))));
    }
}
