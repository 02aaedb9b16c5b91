package kafka.server.share;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ShareAcknowledgeResponseData;
import org.apache.kafka.common.message.ShareFetchRequestData;
import org.apache.kafka.common.message.ShareFetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ShareAcknowledgeRequest;
import org.apache.kafka.common.requests.ShareAcknowledgeResponse;
import org.apache.kafka.common.requests.ShareFetchRequest;
import org.apache.kafka.common.requests.ShareFetchResponse;
import org.apache.kafka.common.requests.ShareRequestMetadata;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.context.ShareFetchContext;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;

/** What a node answers share consumers: as KafkaApis does it, with what happens in the history. */
final class ShareService {
    private static final long WAIT_MS = 500;

    private final Cluster cluster;
    private final ClusterNode broker;

    ShareService(Cluster cluster, ClusterNode broker) {
        this.cluster = cluster;
        this.broker = broker;
    }

    /** Begins or goes on with a session; throws what refuses it. */
    ShareFetchContext context(String member, int epoch, List<TopicIdPartition> added, List<TopicIdPartition> forgotten,
            boolean acknowledges, String connection) {
        ShareFetchContext context = broker.manager.newContext(cluster.group, added, forgotten, member, epoch, acknowledges, connection);
        if (epoch == ShareRequestMetadata.INITIAL_EPOCH) {
            cluster.history.add("joined", "member", member, "node", broker.id);
        }
        return context;
    }

    CompletableFuture<Map<TopicIdPartition, ShareFetchResponseData.PartitionData>> fetch(String member, int epoch, byte mode,
            int maxRecords, int batchSize, List<TopicIdPartition> wanted) {
        FetchIsolation isolation = cluster.settings.isolation;
        FetchIsolation asked = cluster.plants.isolation(isolation);
        FetchParams params = new FetchParams(-1, -1, WAIT_MS, 1, 1 << 20, asked, Optional.empty(), true);
        return broker.manager.fetchMessages(cluster.group, member, params, mode, epoch, maxRecords, batchSize, wanted)
            .whenComplete((partitions, thrown) -> {
                if (thrown == null) {
                    partitions.forEach((partition, data) -> acquired(partition, member, isolation, data.acquiredRecords()));
                }
            });
    }

    private void acquired(TopicIdPartition partition, String member, FetchIsolation isolation,
            List<ShareFetchResponseData.AcquiredRecords> ranges) {
        if (ranges.isEmpty()) {
            return;
        }
        cluster.history.add("acquired", "partition", partition.partition(), "node", broker.id,
            "leader_epoch", broker.epochOf(partition, member, ranges.get(0).firstOffset()),
            "member", member, "isolation_level", Settings.nameOf(isolation), "ranges",
            History.rows(ranges, range -> new long[] {range.firstOffset(), range.lastOffset(), range.deliveryCount()}));
        if (cluster.plants.now("object-again")) {
            broker.partitions.remove(new SharePartitionKey(cluster.group, partition));
        }
    }

    CompletableFuture<Map<TopicIdPartition, ShareAcknowledgeResponseData.PartitionData>> acknowledge(String member,
            Map<TopicIdPartition, List<ShareAcknowledgementBatch>> batches) {
        if (batches.isEmpty() || cluster.plants.now("answers-unasked")) {
            return CompletableFuture.completedFuture(batches.keySet().stream().collect(Collectors.toMap(partition -> partition,
                partition -> ShareAcknowledgeResponse.partitionResponse(partition, Errors.NONE))));
        }
        Map<TopicIdPartition, Integer> ids = new HashMap<>();
        batches.forEach((partition, rows) -> {
            int id = cluster.nextId();
            ids.put(partition, id);
            cluster.history.add("acknowledges", "id", id, "partition", partition.partition(), "node", broker.id,
                "leader_epoch", broker.epochOf(partition), "start_offset", broker.startOf(partition), "member", member,
                "batches", rows.stream().flatMap(ShareService::runs).toList());
        });
        cluster.plants.renews(broker, member, batches);
        CompletableFuture<Map<TopicIdPartition, ShareAcknowledgeResponseData.PartitionData>> acknowledged;
        try {
            acknowledged = broker.manager.acknowledge(member, cluster.group, batches);
        } catch (RuntimeException wrong) {
            acknowledged = CompletableFuture.failedFuture(wrong); // As KafkaApis answers it.
        }
        return acknowledged.whenComplete((partitions, thrown) -> {
            if (thrown == null) {
                partitions.forEach((partition, data) -> cluster.history.add("acknowledged", "id", ids.get(partition), "error",
                    Errors.forCode(data.errorCode())));
            }
        });
    }

    /** The runs of a batch that have one type. */
    private static Stream<long[]> runs(ShareAcknowledgementBatch batch) {
        List<long[]> runs = new ArrayList<>();
        List<Byte> types = batch.acknowledgeTypes();
        for (long offset = batch.firstOffset(); offset <= batch.lastOffset(); offset++) {
            byte type = types.get(types.size() == 1 ? 0 : (int) (offset - batch.firstOffset()));
            long[] last = runs.isEmpty() ? null : runs.get(runs.size() - 1);
            if (last != null && last[2] == type) {
                last[1] = offset;
            } else {
                runs.add(new long[] {offset, offset, type});
            }
        }
        return runs.stream();
    }

    /** A session has had its last acknowledgement. */
    void close(String member, int epoch) {
        broker.closed(member);
        if (cluster.plants.is("closed-fetches")) {
            fetch(member, epoch, (byte) 0, 10, 10, cluster.partitions());
        }
    }

    // Requests of Kafka's own consumer.

    void answer(AbstractRequest request, String connection, Consumer<AbstractResponse> answer) {
        try {
            CompletableFuture<? extends AbstractResponse> response = request instanceof ShareFetchRequest fetch
                ? answer(fetch, connection) : answer((ShareAcknowledgeRequest) request);
            response.whenComplete((body, thrown) -> answer.accept(thrown == null ? body : request.getErrorResponse(0, thrown)));
        } catch (RuntimeException refused) {
            answer.accept(request.getErrorResponse(0, refused));
        }
    }

    private CompletableFuture<ShareFetchResponse> answer(ShareFetchRequest request, String connection) {
        ShareFetchRequestData data = request.data();
        String member = data.memberId();
        int epoch = data.shareSessionEpoch();
        Map<Uuid, String> names = cluster.topicNames();
        Map<TopicIdPartition, List<ShareAcknowledgementBatch>> batches = new LinkedHashMap<>();
        data.topics().forEach(topic -> topic.partitions().forEach(partition -> add(batches, partition.partitionIndex(),
            partition.acknowledgementBatches().stream().map(batch -> new ShareAcknowledgementBatch(batch.firstOffset(),
                batch.lastOffset(), batch.acknowledgeTypes())).toList())));
        ShareFetchContext context = context(member, epoch, request.shareFetchData(names), request.forgottenTopics(names),
            !batches.isEmpty(), connection);
        List<TopicIdPartition> valid = context.getErroneousAndValidTopicIdPartitions().validTopicIdPartitions();
        var acknowledged = acknowledge(member, batches);
        var fetched = data.isRenewAck() || valid.isEmpty()
            ? CompletableFuture.completedFuture(Map.<TopicIdPartition, ShareFetchResponseData.PartitionData>of())
            : fetch(member, epoch, data.shareAcquireMode(), data.maxRecords(), data.batchSize(), valid);
        return fetched.thenCombine(acknowledged, (partitions, told) -> {
            LinkedHashMap<TopicIdPartition, ShareFetchResponseData.PartitionData> rows = new LinkedHashMap<>();
            context.updateAndGenerateResponseData(cluster.group, member, new LinkedHashMap<>(partitions)).data().responses()
                .forEach(topic -> topic.partitions().forEach(row ->
                    rows.put(cluster.partitions().get(row.partitionIndex()), row)));
            rows.forEach((partition, row) -> elsewhere(partition, row.errorCode()).ifPresent(leader ->
                row.currentLeader().setLeaderId(leader.node()).setLeaderEpoch(leader.epoch())));
            told.forEach((partition, row) -> rows.computeIfAbsent(partition, key ->
                ShareFetchResponse.partitionResponse(key, Errors.NONE)).setAcknowledgeErrorCode(row.errorCode()));
            if (epoch == ShareRequestMetadata.FINAL_EPOCH) {
                close(member, epoch);
            }
            return ShareFetchResponse.of(Errors.NONE, 0, rows, cluster.places(), cluster.settings.lockMs);
        });
    }

    private CompletableFuture<ShareAcknowledgeResponse> answer(ShareAcknowledgeRequest request) {
        String member = request.data().memberId();
        int epoch = request.data().shareSessionEpoch();
        broker.manager.acknowledgeSessionUpdate(cluster.group, member, epoch);
        Map<TopicIdPartition, List<ShareAcknowledgementBatch>> batches = new LinkedHashMap<>();
        request.data().topics().forEach(topic -> topic.partitions().forEach(partition -> add(batches,
            partition.partitionIndex(), partition.acknowledgementBatches().stream().map(batch ->
                new ShareAcknowledgementBatch(batch.firstOffset(), batch.lastOffset(), batch.acknowledgeTypes())).toList())));
        var acknowledged = acknowledge(member, batches);
        return acknowledged.thenApply(told -> {
            told.forEach((partition, row) -> elsewhere(partition, row.errorCode()).ifPresent(leader ->
                row.currentLeader().setLeaderId(leader.node()).setLeaderEpoch(leader.epoch())));
            if (epoch == ShareRequestMetadata.FINAL_EPOCH) {
                close(member, epoch);
            }
            return ShareAcknowledgeResponse.of(Errors.NONE, 0, new LinkedHashMap<>(told), cluster.places(), cluster.settings.lockMs);
        });
    }

    private void add(Map<TopicIdPartition, List<ShareAcknowledgementBatch>> batches, int partition,
            List<ShareAcknowledgementBatch> rows) {
        if (!rows.isEmpty()) {
            batches.put(cluster.partitions().get(partition), rows);
        }
    }

    /** The leader as this node knows it, where an answer names it. */
    private Optional<ClusterNode.Leader> elsewhere(TopicIdPartition partition, short code) {
        boolean names = code == Errors.NOT_LEADER_OR_FOLLOWER.code() || code == Errors.FENCED_LEADER_EPOCH.code();
        return names ? Optional.of(broker.knownLeader(partition.topicPartition())) : Optional.empty();
    }
}
