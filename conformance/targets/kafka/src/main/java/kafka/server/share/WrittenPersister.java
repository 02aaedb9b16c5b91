package kafka.server.share;

import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateResult;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateResult;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.ReadShareGroupStateParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryResult;
import org.apache.kafka.server.share.persister.WriteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;

/** Kafka's persister, whose writes and reads stand in the history, with their answers. */
record WrittenPersister(Cluster cluster, int node, Persister kafka) implements Persister {
    @Override
    public CompletableFuture<WriteShareGroupStateResult> writeState(WriteShareGroupStateParameters request) {
        var written = request.groupTopicPartitionData().topicsData().get(0).partitions().get(0);
        int id = cluster.nextId();
        cluster.history.writes(id, written.partition(), node, written.leaderEpoch(), written.startOffset(),
            written.stateBatches());
        return kafka.writeState(request).whenComplete((result, thrown) -> cluster.history.written(id,
            thrown != null ? Errors.forException(thrown)
                : Errors.forCode(result.topicsData().get(0).partitions().get(0).errorCode())));
    }

    @Override
    public CompletableFuture<ReadShareGroupStateResult> readState(ReadShareGroupStateParameters request) {
        var asked = request.groupTopicPartitionData().topicsData().get(0).partitions().get(0);
        int id = cluster.nextId();
        cluster.history.reads(id, asked.partition(), node, asked.leaderEpoch());
        return kafka.readState(request).whenComplete((result, thrown) -> cluster.history.read(id,
            thrown != null ? Errors.forException(thrown)
                : Errors.forCode(result.topicsData().get(0).partitions().get(0).errorCode())));
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
