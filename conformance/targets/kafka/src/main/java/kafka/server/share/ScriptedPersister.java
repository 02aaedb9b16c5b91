package kafka.server.share;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.message.WriteShareGroupStateResponseData;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateResult;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateResult;
import org.apache.kafka.server.share.persister.PartitionAllData;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.PartitionStateBatchData;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.share.persister.ReadShareGroupStateParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;

/** A persister that notes each write and answers it as scripted: at once, with an error, or later. */
final class ScriptedPersister implements Persister {
    static final String PENDING = "PENDING";

    /** A write as it was made, and the answer to it so far. */
    record Written(int id, PartitionStateBatchData data, String status) {}

    private final Uuid topicId;
    private final PartitionAllData stored;
    private final Map<Integer, CompletableFuture<WriteShareGroupStateResult>> outstanding = new TreeMap<>();
    private final Deque<String> answers = new ArrayDeque<>();
    private List<Written> written = new ArrayList<>();
    private int nextId;

    ScriptedPersister(Uuid topicId, PartitionAllData stored, int nextId) {
        this.topicId = topicId;
        this.stored = stored;
        this.nextId = nextId;
    }

    int nextId() {
        return nextId;
    }

    void script(List<String> statuses) {
        answers.clear();
        answers.addAll(statuses);
    }

    List<Written> takeWritten() {
        List<Written> taken = written;
        written = new ArrayList<>();
        return taken;
    }

    /** A write in other epochs than the leader has is an error: a share coordinator fences it, or lets an old one in. */
    void check(PartitionStateBatchData write, int leaderEpoch) {
        if (write.stateEpoch() != stored.stateEpoch() || write.leaderEpoch() != leaderEpoch) {
            throw new IllegalStateException("a write in state epoch " + write.stateEpoch() + " and leader epoch "
                + write.leaderEpoch() + ", not " + stored.stateEpoch() + " and " + leaderEpoch);
        }
    }

    boolean complete(int id, String status) {
        CompletableFuture<WriteShareGroupStateResult> future = outstanding.remove(id);
        return future != null && future.complete(result(status));
    }

    private WriteShareGroupStateResult result(String status) {
        Errors error = Errors.valueOf(status);
        return WriteShareGroupStateResult.from(new WriteShareGroupStateResponseData().setResults(List.of(
            new WriteShareGroupStateResponseData.WriteStateResult().setTopicId(topicId).setPartitions(List.of(
                new WriteShareGroupStateResponseData.PartitionResult()
                    .setPartition(0).setErrorCode(error.code()).setErrorMessage(error.message()))))));
    }

    @Override
    public CompletableFuture<ReadShareGroupStateResult> readState(ReadShareGroupStateParameters request) {
        return CompletableFuture.completedFuture(new ReadShareGroupStateResult.Builder()
            .setTopicsData(List.of(new TopicData<>(topicId, List.of(stored)))).build());
    }

    @Override
    public CompletableFuture<WriteShareGroupStateResult> writeState(WriteShareGroupStateParameters request) {
        PartitionStateBatchData data =
            request.groupTopicPartitionData().topicsData().get(0).partitions().get(0);
        String status = answers.isEmpty() ? Errors.NONE.name() : answers.poll();
        int id = nextId++;
        written.add(new Written(id, data, status));
        if (!status.equals(PENDING)) {
            return CompletableFuture.completedFuture(result(status));
        }
        CompletableFuture<WriteShareGroupStateResult> future = new CompletableFuture<>();
        outstanding.put(id, future);
        return future;
    }

    static PartitionAllData stored(int stateEpoch, long startOffset, List<PersisterStateBatch> batches) {
        return PartitionFactory.newPartitionAllData(
            0, stateEpoch, startOffset, Errors.NONE.code(), Errors.NONE.message(), batches);
    }

    @Override
    public CompletableFuture<InitializeShareGroupStateResult> initializeState(
            InitializeShareGroupStateParameters request) {
        throw new UnsupportedOperationException("a share-partition never initializes its state");
    }

    @Override
    public CompletableFuture<DeleteShareGroupStateResult> deleteState(DeleteShareGroupStateParameters request) {
        throw new UnsupportedOperationException("a share-partition never deletes its state");
    }

    @Override
    public CompletableFuture<ReadShareGroupStateSummaryResult> readSummary(
            ReadShareGroupStateSummaryParameters request) {
        throw new UnsupportedOperationException("a share-partition never reads a summary");
    }

    @Override
    public void stop() {
        outstanding.clear();
    }
}
