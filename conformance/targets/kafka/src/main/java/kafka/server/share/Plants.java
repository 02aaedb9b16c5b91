package kafka.server.share;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.message.DeleteShareGroupStateRequestData;
import org.apache.kafka.common.message.InitializeShareGroupStateRequestData;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.dlq.ShareGroupDLQManager;
import org.apache.kafka.server.share.dlq.ShareGroupDLQRecordParameter;
import org.apache.kafka.server.share.fetch.InFlightState;
import org.apache.kafka.server.share.persister.PartitionAllData;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.PartitionStateBatchData;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.storage.internals.log.FetchDataInfo;

/**
 * Faults that are planted in a cluster, to see that the rules from end to end find them, and known faults of
 * Kafka's that are masked, so that nothing else is found. Without a name nothing is planted.
 */
final class Plants {
    private static final byte AVAILABLE = 0;
    private static final byte ACKNOWLEDGED = 2;
    private static final byte ARCHIVED = 4;
    private static final byte RENEW = 4;

    /** Writes of one leader epoch of a share-partition, which wait for those of the one before. */
    private record Turn(int epoch, CompletableFuture<?> begins, CompletableFuture<?> ends) {}

    final boolean masked;
    private final String name;
    private final Random random;
    private boolean altered;
    private final Map<List<Object>, Turn> turns = new HashMap<>();

    Plants(String name, boolean masked, Random random) {
        this.name = name;
        this.masked = masked;
        this.random = random;
    }

    /** Tells whether this is what is planted. */
    boolean is(String plant) {
        return name.equals(plant);
    }

    /** Tells whether this is what is planted, now and then. */
    boolean now(String plant) {
        return is(plant) && random.nextInt(6) == 0;
    }

    /** Returns the level of isolation at which a fetch reads. */
    FetchIsolation isolation(FetchIsolation set) {
        return is("isolation-kept") && altered ? FetchIsolation.HIGH_WATERMARK : set;
    }

    /** A setting of the group was altered. */
    void altered(Cluster cluster) {
        altered = true;
        cluster.settings.moreAttempts = is("limit-not-lowered") ? 3 : 0;
        cluster.settings.moreLocks = is("window-shut") ? -cluster.settings.maxLocks : 0;
        if (is("altering-frees")) {
            for (int id = 0; id < cluster.size(); id++) {
                free(cluster.node(id), cluster.members());
            }
        }
    }

    /** A member leaves a node, which has so many sessions left; it releases by this what it holds, given by record. */
    void leaves(ClusterNode node, List<Member> members, Set<InFlightState> held, String how, int sessions) {
        if (is("leaving-frees")) {
            free(node, members);
        }
        if (is("last-leaving-drops") && sessions == 0) {
            List.copyOf(node.partitions.cachedSharePartitionKeys()).forEach(node.partitions::remove);
        }
        if (is("leaving-uncounted") || is("lost-uncounted") && how.equals("is disconnected")) {
            held.forEach(state -> Hidden.set(state, "deliveryCount", state.deliveryCount() - 1));
        }
    }

    /** A member renews the first records of some batches. */
    void renews(ClusterNode node, String member, Map<TopicIdPartition, List<ShareAcknowledgementBatch>> batches) {
        if (is("renewal-uncounted")) {
            batches.forEach((partition, rows) -> rows.stream().filter(row -> row.acknowledgeTypes().contains(RENEW))
                .forEach(row -> node.held(partition, member, row.firstOffset())
                    .ifPresent(state -> Hidden.set(state, "deliveryCount", state.deliveryCount() - 1))));
        }
    }

    private static void free(ClusterNode node, List<Member> members) {
        node.partitions.cachedSharePartitionKeys().forEach(key -> members.forEach(member ->
            node.partitions.get(key).releaseAcquiredRecords(member.member())));
    }

    /** Returns what a leader writes. */
    PartitionStateBatchData written(PartitionStateBatchData asked, int limit) {
        int complete = asked.deliveryCompleteCount() + (is("complete-too-high") ? 2 : 0);
        List<PersisterStateBatch> batches = asked.stateBatches().stream().map(batch ->
            batch.deliveryState() != AVAILABLE ? batch
                : is("release-uncounted") ? with(batch, AVAILABLE, batch.deliveryCount() - 1)
                : is("release-over-limit") ? with(batch, AVAILABLE, limit + 1)
                : is("release-archives") ? with(batch, ARCHIVED, batch.deliveryCount()) : batch).toList();
        return PartitionFactory.newPartitionStateBatchData(asked.partition(),
            asked.stateEpoch() + (is("epoch-ahead") ? 1_000 : 0), asked.startOffset(), complete, asked.leaderEpoch(), batches);
    }

    /** Returns what a leader reads. */
    PartitionAllData read(PartitionAllData state, int limit) {
        long start = state.startOffset() + (is("read-skips") && state.startOffset() > 0 ? 3 : 0);
        List<PersisterStateBatch> batches = state.stateBatches().stream()
            .filter(batch -> batch.firstOffset() >= start)
            .filter(batch -> !(is("read-forgets") && batch.deliveryState() == ACKNOWLEDGED))
            .map(batch -> batch.deliveryState() != AVAILABLE ? batch
                : is("read-uncounted") ? with(batch, AVAILABLE, batch.deliveryCount() - 1)
                : is("read-over-limit") ? with(batch, AVAILABLE, batch.deliveryCount() + limit) : batch).toList();
        return PartitionFactory.newPartitionAllData(state.partition(), state.stateEpoch(), start, state.errorCode(),
            state.errorMessage(), batches);
    }

    /** Alters what a share coordinator is asked to initialize. */
    void initializes(InitializeShareGroupStateRequestData request) {
        request.topics().forEach(topic -> topic.partitions().forEach(each -> each
            .setStateEpoch(is("epoch-stays") ? 0 : each.stateEpoch())
            .setStartOffset(is("altered-too-low") && each.startOffset() > 0 ? each.startOffset() / 2 : each.startOffset())));
    }

    /** Has a share coordinator delete something else. */
    void deletes(DeleteShareGroupStateRequestData request) {
        if (is("deletes-nothing")) {
            request.setGroupId("none");
        }
    }

    /** Gives to the dead-letter queue what is accepted. */
    void bury(ShareGroupDLQManager letters, String group, TopicIdPartition partition, PartitionStateBatchData written) {
        for (PersisterStateBatch batch : is("accepted-buried") ? written.stateBatches() : List.<PersisterStateBatch>of()) {
            if (batch.deliveryState() == ACKNOWLEDGED) {
                letters.enqueue(new ShareGroupDLQRecordParameter(group, partition, batch.firstOffset(), batch.lastOffset(),
                    Optional.of(batch.deliveryCount()), Optional.empty()));
            }
        }
    }

    /** A fetch begins below the log; where faults are masked, a gap window moves with the start offset. */
    void outOfRange(SharePartition object, long logStart) {
        Object window = masked && object != null ? Hidden.of(object, "persisterReadResultGapWindow") : null;
        if (window != null && (long) Hidden.of(window, "gapStartOffset") < logStart) {
            Hidden.set(window, "gapStartOffset", logStart);
        }
    }

    /** Returns what a leader reads of its log. */
    FetchDataInfo read(Log log, long offset, FetchIsolation isolation) {
        FetchDataInfo read = log.from(offset, is("stable-ignored") ? FetchIsolation.HIGH_WATERMARK : isolation);
        return is("aborted-untold") ? new FetchDataInfo(read.fetchOffsetMetadata, read.records) : read;
    }

    private static PersisterStateBatch with(PersisterStateBatch batch, byte state, int count) {
        return new PersisterStateBatch(batch.firstOffset(), batch.lastOffset(), state, (short) count);
    }

    /** Returns after how many ms a timer comes; -1: never. */
    long delayMs(TimerTask task) {
        boolean lock = task.getClass().getSimpleName().equals("AcquisitionLockTimerTask");
        return lock && is("locks-short") ? task.delayMs / 3 : lock && now("timers-stop") ? -1 : task.delayMs;
    }

    /** Sends a write; where faults are masked, no request has those of two leader epochs of a share-partition. */
    <T> CompletableFuture<T> inTurn(ClusterNode node, int partition, int epoch, Supplier<CompletableFuture<T>> send) {
        if (!masked) {
            return send.get();
        }
        Turn last = turns.get(List.of(node, partition));
        boolean goesOn = last != null && last.epoch == epoch;
        CompletableFuture<?> before = last == null ? CompletableFuture.completedFuture(null) : last.ends;
        CompletableFuture<?> begins = goesOn ? last.begins : before.handle((done, wrong) -> null);
        CompletableFuture<T> answer = begins.thenCompose(begun -> send.get());
        turns.put(List.of(node, partition), new Turn(epoch, begins,
            CompletableFuture.allOf(before, answer).handle((done, wrong) -> null)));
        return answer;
    }
}
