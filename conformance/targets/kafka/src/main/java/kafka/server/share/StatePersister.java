package kafka.server.share;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateResult;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateResult;
import org.apache.kafka.server.share.persister.PartitionErrorData;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.PartitionIdData;
import org.apache.kafka.server.share.persister.PartitionStateData;
import org.apache.kafka.server.share.persister.PartitionStateSummaryData;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.ReadShareGroupStateParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;

/**
 * Keeps the durable state of share-partitions as share coordinators do, and answers as scripted: at once, with an
 * error, which changes nothing, or late, of a request that was served when it came.
 */
final class StatePersister implements Persister {
    private static final String PENDING = "PENDING";

    private record State(int epoch, long startOffset) {}

    private final Map<Uuid, Map<Integer, State>> states = new HashMap<>();
    private final Map<Uuid, String> labels;
    private final Deque<String> answers = new ArrayDeque<>();
    private final Map<Integer, Function<Errors, Runnable>> late = new TreeMap<>();
    private ArrayNode calls;
    private int nextId;

    StatePersister(Map<Uuid, String> labels) {
        this.labels = labels;
    }

    /** Begins an operation: the answers to its calls in order, and where they are noted. */
    void script(List<String> statuses, ArrayNode noted) {
        answers.clear();
        answers.addAll(statuses);
        calls = noted;
    }

    /** Answers the call with this id, if it waits. */
    void answer(int id, String status) {
        Function<Errors, Runnable> waiting = late.remove(id);
        if (waiting != null) {
            waiting.apply(Errors.valueOf(status)).run();
        }
    }

    /** Forgets the share-partitions of a topic that is gone, as share coordinators do. */
    void forget(Uuid topic) {
        states.remove(topic);
    }

    @Override
    public CompletableFuture<InitializeShareGroupStateResult> initializeState(InitializeShareGroupStateParameters request) {
        List<TopicData<PartitionStateData>> topics = request.groupTopicPartitionData().topicsData();
        String status = next(topics);
        int id = nextId++;
        for (TopicData<PartitionStateData> topic : topics) {
            for (PartitionStateData each : topic.partitions()) {
                note(id, "initialize", status, topic.topicId(), each.partition())
                    .put("start_offset", each.startOffset()).put("state_epoch", each.stateEpoch());
                if (serves(status)) {
                    states.computeIfAbsent(topic.topicId(), any -> new TreeMap<>())
                        .put(each.partition(), new State(each.stateEpoch(), each.startOffset()));
                }
            }
        }
        return answered(id, status, error -> new InitializeShareGroupStateResult.Builder()
            .setTopicsData(errors(topics, error)).build());
    }

    @Override
    public CompletableFuture<DeleteShareGroupStateResult> deleteState(DeleteShareGroupStateParameters request) {
        List<TopicData<PartitionIdData>> topics = request.groupTopicPartitionData().topicsData();
        if (topics.stream().anyMatch(topic -> topic.partitions().isEmpty())) {
            // DefaultStatePersister calls no share coordinator then.
            return CompletableFuture.failedFuture(new IllegalArgumentException("partitions cannot be null or empty"));
        }
        String status = next(topics);
        int id = nextId++;
        for (TopicData<PartitionIdData> topic : topics) {
            for (PartitionIdData each : topic.partitions()) {
                note(id, "delete", status, topic.topicId(), each.partition());
                if (serves(status)) {
                    states.getOrDefault(topic.topicId(), new HashMap<>()).remove(each.partition());
                }
            }
        }
        return answered(id, status, error -> new DeleteShareGroupStateResult.Builder()
            .setTopicsData(errors(topics, error)).build());
    }

    @Override
    public CompletableFuture<ReadShareGroupStateSummaryResult> readSummary(ReadShareGroupStateSummaryParameters request) {
        List<TopicData<PartitionStateSummaryData>> read = new ArrayList<>();
        for (TopicData<? extends PartitionIdData> topic : request.groupTopicPartitionData().topicsData()) {
            read.add(new TopicData<>(topic.topicId(), topic.partitions().stream().map(each ->
                summary(each.partition(), states.getOrDefault(topic.topicId(), Map.of()).get(each.partition()))).toList()));
        }
        return CompletableFuture.completedFuture(
            new ReadShareGroupStateSummaryResult.Builder().setTopicsData(read).build());
    }

    private static PartitionStateSummaryData summary(int partition, State state) {
        int epoch = state == null ? 0 : state.epoch;
        long start = state == null ? -1 : state.startOffset;
        boolean counts = Arrays.stream(PartitionFactory.class.getMethods())
            .anyMatch(each -> each.getName().equals("newPartitionStateSummaryData") && each.getParameterCount() > 6);
        Object[] given = counts ? new Object[] {partition, epoch, start, 0, 0, (short) 0, ""}
            : new Object[] {partition, epoch, start, 0, (short) 0, ""};
        return (PartitionStateSummaryData) Assembled.call(
            PartitionFactory.class, null, "newPartitionStateSummaryData", given);
    }

    @Override
    public CompletableFuture<ReadShareGroupStateResult> readState(ReadShareGroupStateParameters request) {
        throw new UnsupportedOperationException("a group coordinator reads no state");
    }

    @Override
    public CompletableFuture<WriteShareGroupStateResult> writeState(WriteShareGroupStateParameters request) {
        throw new UnsupportedOperationException("a group coordinator writes no state");
    }

    @Override
    public void stop() { }

    /** Returns the next answer; share coordinators refuse a partition below 0, whatever else they do. */
    private String next(List<? extends TopicData<? extends PartitionIdData>> topics) {
        if (topics.stream().anyMatch(topic -> topic.partitions().stream().anyMatch(each -> each.partition() < 0))) {
            return Errors.INVALID_REQUEST.name();
        }
        return answers.isEmpty() ? Errors.NONE.name() : answers.poll();
    }

    private static boolean serves(String status) {
        return status.equals(PENDING) || status.equals(Errors.NONE.name());
    }

    private ObjectNode note(int id, String call, String status, Uuid topic, int partition) {
        return calls.addObject().put("id", id).put("call", call).put("status", status)
            .put("topic", labels.getOrDefault(topic, topic.toString())).put("partition", partition);
    }

    private <R> CompletableFuture<R> answered(int id, String status, Function<Errors, R> result) {
        CompletableFuture<R> future = new CompletableFuture<>();
        Function<Errors, Runnable> complete = error -> () -> {
            if (error == Errors.UNKNOWN_SERVER_ERROR) {
                future.completeExceptionally(error.exception());
            } else {
                future.complete(result.apply(error));
            }
        };
        if (status.equals(PENDING)) {
            late.put(id, complete);
        } else {
            complete.apply(Errors.valueOf(status)).run();
        }
        return future;
    }

    private static <P extends PartitionIdData> List<TopicData<PartitionErrorData>> errors(
        List<TopicData<P>> topics, Errors error
    ) {
        return topics.stream().map(topic -> new TopicData<>(topic.topicId(), topic.partitions().stream()
            .map(each -> PartitionFactory.newPartitionErrorData(each.partition(), error.code(), error.message()))
            .toList())).toList();
    }
}
