package kafka.server.share;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateResult;
import org.apache.kafka.server.share.persister.GroupTopicPartitionData;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateResult;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.share.persister.ReadShareGroupStateParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;

/** Kafka's persister, whose writes and reads stand in the history, with their answers. */
record WrittenPersister(Cluster cluster, ClusterNode at, int node, Persister kafka) implements Persister {
    @Override
    public CompletableFuture<WriteShareGroupStateResult> writeState(WriteShareGroupStateParameters request) {
        var topic = request.groupTopicPartitionData().topicsData().get(0);
        Plants plants = cluster.plants;
        var written = plants.written(topic.partitions().get(0), cluster.settings.deliveryLimit);
        int partition = written.partition();
        int epoch = written.leaderEpoch();
        int id = cluster.nextId();
        cluster.history.add("writes", "id", id, "partition", partition, "node", node, "leader_epoch", epoch,
            "start_offset", written.startOffset(), "batches", rows(written.stateBatches()));
        var altered = new WriteShareGroupStateParameters.Builder().setGroupTopicPartitionData(
            new GroupTopicPartitionData<>(cluster.group, List.of(new TopicData<>(topic.topicId(), List.of(written))))).build();
        plants.bury(at.letters, cluster.group, cluster.partitions().get(partition), written);
        boolean dropped = plants.now("writes-lost") || plants.is("writes-stop") && cluster.isDraining();
        var sent = dropped ? CompletableFuture.completedFuture(answer(topic.topicId(), partition, Errors.NONE))
            : plants.inTurn(at, partition, epoch, () -> kafka.writeState(altered));
        if (plants.now("answers-early")) {
            sent = CompletableFuture.completedFuture(answer(topic.topicId(), partition, Errors.NONE));
        }
        at.writes(1);
        CompletableFuture<WriteShareGroupStateResult> answer = new CompletableFuture<>();
        sent.whenComplete((result, thrown) -> {
            Errors error = thrown != null ? Errors.forException(thrown)
                : Errors.forCode(result.topicsData().get(0).partitions().get(0).errorCode());
            boolean confirmed = plants.is("fenced-is-none") && error == Errors.FENCED_LEADER_EPOCH;
            cluster.history.add("written", "id", id, "error", confirmed ? Errors.NONE : error);
            if (plants.masked && error == Errors.FENCED_LEADER_EPOCH && !confirmed) {
                at.forget(cluster.partitions().get(partition), epoch);
            } else if (!plants.now("answers-stop")) {
                Errors told = confirmed ? Errors.NONE
                    : isMasked(partition, epoch, error) ? Errors.COORDINATOR_NOT_AVAILABLE : error;
                answer.complete(answer(topic.topicId(), partition, told));
            }
            at.writes(-1);
        });
        return answer;
    }

    @Override
    public CompletableFuture<ReadShareGroupStateResult> readState(ReadShareGroupStateParameters request) {
        var topic = request.groupTopicPartitionData().topicsData().get(0);
        var asked = topic.partitions().get(0);
        int id = cluster.nextId();
        cluster.history.add("reads", "id", id, "partition", asked.partition(), "node", node, "leader_epoch",
            asked.leaderEpoch());
        CompletableFuture<ReadShareGroupStateResult> answer = new CompletableFuture<>();
        kafka.readState(request).whenComplete((result, thrown) -> {
            Errors error = thrown != null ? Errors.forException(thrown)
                : Errors.forCode(result.topicsData().get(0).partitions().get(0).errorCode());
            cluster.history.add("read", "id", id, "error", error);
            if (isMasked(asked.partition(), asked.leaderEpoch(), error)) {
                return;
            }
            if (thrown != null) {
                answer.completeExceptionally(thrown);
                return;
            }
            var state = cluster.plants.read(result.topicsData().get(0).partitions().get(0), cluster.settings.deliveryLimit);
            answer.complete(new ReadShareGroupStateResult.Builder()
                .setTopicsData(List.of(new TopicData<>(topic.topicId(), List.of(state)))).build());
        });
        return answer;
    }

    /** The late failure of a former object is masked: it would remove the present one. */
    private boolean isMasked(int partition, int epoch, Errors error) {
        int present = at.epochOf(cluster.partitions().get(partition));
        return cluster.plants.masked && error != Errors.NONE && present != -1 && present != epoch;
    }

    private static WriteShareGroupStateResult answer(Uuid topicId, int partition, Errors error) {
        return new WriteShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(topicId,
            List.of(PartitionFactory.newPartitionErrorData(partition, error.code(), error.message()))))).build();
    }

    private static List<long[]> rows(List<PersisterStateBatch> batches) {
        return History.rows(batches, batch -> new long[] {batch.firstOffset(), batch.lastOffset(),
            batch.deliveryState(), batch.deliveryCount()});
    }

    @Override
    public CompletableFuture<InitializeShareGroupStateResult> initializeState(
            InitializeShareGroupStateParameters request) {
        return kafka.initializeState(request);
    }

    @Override
    public CompletableFuture<DeleteShareGroupStateResult> deleteState(DeleteShareGroupStateParameters request) {
        return kafka.deleteState(request);
    }

    @Override
    public CompletableFuture<ReadShareGroupStateSummaryResult> readSummary(
            ReadShareGroupStateSummaryParameters request) {
        return kafka.readSummary(request);
    }

    @Override
    public void stop() { }
}
