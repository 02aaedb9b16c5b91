package kafka.server.share;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestPartition;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopic;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopicCollection;
import org.apache.kafka.common.message.DeleteShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.DeleteShareGroupOffsetsRequestData.DeleteShareGroupOffsetsRequestTopic;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ShareGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;

/**
 * The coordinator of the group, in the clusters that have one: the partition of the groups' topic that it keeps, the
 * node that it is, and what members and an administrator ask it. Nobody is sure to be answered.
 */
final class Groups {
    private static final long TIMEOUT_MS = 5_000;
    private static final long AGAIN_MS = 300;

    final GroupCoordinatorConfig config;
    final StateTopic log;
    private final Cluster cluster;

    Groups(Cluster cluster, Random random, int retryMs) {
        this.cluster = cluster;
        config = GroupCoordinatorConfig.fromProps(Map.of("group.share.min.session.timeout.ms", 3_000,
            "group.share.min.heartbeat.interval.ms", 500, "group.share.session.timeout.ms", 3_000,
            "group.share.heartbeat.interval.ms", 500, "group.share.assignment.interval.ms", 0,
            "group.share.initialize.retry.interval.ms", retryMs));
        log = new StateTopic(cluster, new TopicPartition("__consumer_offsets", 0), random, GroupNode.SERDE, record -> { });
    }

    /** Kafka's own coordinator on a node, which leads nothing yet. */
    GroupCoordinatorService at(ClusterNode node) {
        return GroupNode.service(config, GroupNode.settings(config), StateTopic.loader(node, List.of(log)),
            StateTopic.writer(node, List.of(log)), node.timer, cluster.clock, node.persister);
    }

    void move(int to) {
        log.elect(cluster.node(to));
        ClusterNode.Leader next = new ClusterNode.Leader(to, log.epoch());
        cluster.tell(node -> node.learnGroups(next));
    }

    /** Asks the node that is the coordinator; null is the answer of one that fails, or gives none in time. */
    private <T> void ask(Object who, Function<GroupCoordinatorService, CompletableFuture<T>> request, Consumer<T> take) {
        ClusterNode node = cluster.node(log.leader());
        Network network = cluster.network;
        PeerClient.Connection connection = new PeerClient.Connection(who, node.id, -1);
        CompletableFuture<T> first = new CompletableFuture<>();
        first.thenAccept(take);
        cluster.clock.after(network.delayMs(connection), network.gate(Network.CLIENTS, node.id, node::mayRun), () ->
            request.apply(node.groups).whenComplete((answer, wrong) -> cluster.clock.after(
                network.delayMs(List.of(connection)), network.gate(Network.CLIENTS, node.id, now -> now),
                () -> first.complete(answer))));
        cluster.clock.after(TIMEOUT_MS, now -> now, () -> first.complete(null));
    }

    /** A member joins with epoch 0, leaves with -1, and heartbeats with any other. */
    void heartbeat(String member, int epoch, Consumer<ShareGroupHeartbeatResponseData> take) {
        ShareGroupHeartbeatRequestData request = new ShareGroupHeartbeatRequestData().setGroupId(cluster.group)
            .setMemberId(member).setMemberEpoch(epoch);
        if (epoch == 0) {
            request.setSubscribedTopicNames(List.copyOf(cluster.topicNames().values()));
        }
        ask(member, service -> service.shareGroupHeartbeat(GroupWorld.context(), request), take);
    }

    // An administrator.

    /** What an administrator asks for: a start offset for some partitions, or a deletion of all, with the group if {@code whole}. */
    record Wish(boolean whole, Map<Integer, Long> offsets) {
        @Override
        public String toString() {
            return whole ? "the group is deleted" : offsets.isEmpty() ? "its offsets are deleted" : "its offsets are altered to " + offsets;
        }
    }

    /** Asks for it until it is done, or for so long. */
    void administer(Wish wish, long forMs) {
        int id = cluster.nextId();
        cluster.history.add("administers", "id", id, "deletes", wish.offsets.isEmpty(), "offsets",
            wish.offsets.entrySet().stream().map(each -> new long[] {each.getKey(), each.getValue()}).toList());
        Consumer<Errors> told = error -> {
            cluster.history.add("administered", "id", id, "error", error);
            if (error != Errors.NONE && error != Errors.GROUP_ID_NOT_FOUND && forMs > AGAIN_MS) {
                cluster.clock.after(AGAIN_MS, now -> now, () -> administer(wish, forMs - AGAIN_MS));
            }
        };
        if (wish.whole) {
            ask("administrator", service -> service.deleteGroups(GroupWorld.context(), List.of(cluster.group), null),
                answer -> told.accept(error(answer == null ? List.of() : answer.stream().map(each -> each.errorCode()).toList())));
        } else if (wish.offsets.isEmpty()) {
            var topics = cluster.topicNames().values().stream().map(name -> new DeleteShareGroupOffsetsRequestTopic().setTopicName(name)).toList();
            ask("administrator", service -> service.deleteShareGroupOffsets(GroupWorld.context(),
                new DeleteShareGroupOffsetsRequestData().setGroupId(cluster.group).setTopics(topics)), answer -> {
                    List<Short> codes = new ArrayList<>();
                    if (answer != null) {
                        codes.add(answer.errorCode());
                        answer.responses().forEach(topic -> codes.add(topic.errorCode()));
                    }
                    told.accept(error(codes));
                });
        } else {
            var topics = new AlterShareGroupOffsetsRequestTopicCollection();
            cluster.topicNames().values().forEach(name -> topics.add(new AlterShareGroupOffsetsRequestTopic().setTopicName(name)
                .setPartitions(wish.offsets.entrySet().stream().map(each -> new AlterShareGroupOffsetsRequestPartition()
                    .setPartitionIndex(each.getKey()).setStartOffset(each.getValue())).toList())));
            ask("administrator", service -> service.alterShareGroupOffsets(GroupWorld.context(), cluster.group,
                new AlterShareGroupOffsetsRequestData().setGroupId(cluster.group).setTopics(topics)), answer -> {
                    List<Short> codes = new ArrayList<>();
                    if (answer != null) {
                        codes.add(answer.errorCode());
                        answer.responses().forEach(topic -> topic.partitions().forEach(each -> codes.add(each.errorCode())));
                    }
                    told.accept(error(codes));
                });
        }
    }

    /** The first error of an answer, if any; without an answer it timed out. */
    private static Errors error(List<Short> codes) {
        return codes.isEmpty() ? Errors.REQUEST_TIMED_OUT
            : codes.stream().map(Errors::forCode).filter(each -> each != Errors.NONE).findFirst().orElse(Errors.NONE);
    }
}
