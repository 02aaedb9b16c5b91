package kafka.server.share;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.requests.CreateTopicsResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.server.share.LogReader;
import org.apache.kafka.server.share.dlq.ShareGroupDLQManager;
import org.apache.kafka.server.share.dlq.ShareGroupDLQMetadataCacheHelper;
import org.apache.kafka.server.share.dlq.ShareGroupDLQRecordParameter;
import org.apache.kafka.server.share.dlq.ShareGroupDLQStateManager;
import org.apache.kafka.server.util.InterBrokerSendThread;

/** The topic of a group's dead letters (KIP-1191): Kafka's own code of each node creates it and produces to it. */
final class DeadLetterTopic {
    private static final String NAME = "dlq";
    private static final Uuid ID = new Uuid(2, 2);
    private static final String HEADER = "__dlq.errors.";

    /** The leaders as a node knows them. */
    private record Known(int version, List<Integer> leaders) {}

    private final Cluster cluster;
    private final Random random;
    private final int partitions;
    private final boolean copies;
    private final int maxBytes;
    private final List<Integer> leaders = new ArrayList<>();
    private final Map<ClusterNode, Known> known = new HashMap<>();
    private int version;

    DeadLetterTopic(Cluster cluster, Random random) {
        this.cluster = cluster;
        this.random = random;
        partitions = 1 + random.nextInt(2);
        copies = random.nextBoolean();
        maxBytes = random.nextBoolean() ? 1 << 20 : 300 + random.nextInt(700);
    }

    /** Another node leads all partitions, if there is the topic; nodes learn it when they do. */
    void move(int node) {
        leaders.replaceAll(leader -> node);
        tell();
    }

    /** A node is down: another leads what it led. */
    void leave(int node) {
        int instead = (node + 1 + random.nextInt(cluster.size() - 1)) % cluster.size();
        leaders.replaceAll(leader -> leader == node ? instead : leader);
        tell();
    }

    /** Each node that runs learns of the leaders, if there are any. */
    void tell() {
        Known news = new Known(++version, List.copyOf(leaders));
        if (!leaders.isEmpty()) {
            cluster.tell(node -> known.merge(node, news, (old, now) -> old.version > now.version ? old : now));
        }
    }

    CreateTopicsResponse create() {
        Errors error = leaders.isEmpty() ? Errors.NONE : Errors.TOPIC_ALREADY_EXISTS;
        while (leaders.size() < partitions) {
            leaders.add(random.nextInt(cluster.size()));
        }
        tell();
        CreateTopicsResponseData data = new CreateTopicsResponseData();
        data.topics().add(new CreateTopicsResponseData.CreatableTopicResult().setName(NAME).setTopicId(ID)
            .setErrorCode(error.code()));
        return new CreateTopicsResponse(data);
    }

    /** A node appends what it is sent, if it leads. */
    ProduceResponse append(ClusterNode node, ProduceRequest request) {
        ProduceResponseData data = new ProduceResponseData();
        for (ProduceRequestData.TopicProduceData topic : request.data().topicData()) {
            var rows = topic.partitionData().stream().map(partition -> {
                boolean leads = leaders.get(partition.index()) == node.id;
                if (leads && !cluster.plants.now("letters-lost")) {
                    ((MemoryRecords) partition.records()).records().forEach(this::append);
                }
                return new ProduceResponseData.PartitionProduceResponse().setIndex(partition.index())
                    .setErrorCode((leads ? Errors.NONE : Errors.NOT_LEADER_OR_FOLLOWER).code());
            }).toList();
            data.responses().add(new ProduceResponseData.TopicProduceResponse().setTopicId(topic.topicId())
                .setPartitionResponses(rows));
        }
        return new ProduceResponse(data);
    }

    private void append(Record record) {
        Map<String, String> headers = new HashMap<>();
        for (Header header : record.headers()) {
            headers.put(header.key(), new String(header.value(), StandardCharsets.UTF_8));
        }
        cluster.history.add("letter", "partition", Integer.parseInt(headers.get(HEADER + "partition")), "offset",
            Long.parseLong(headers.get(HEADER + "offset")) + (cluster.plants.is("letters-shifted") ? 1 : 0));
    }

    /** Kafka's own manager of dead letters, whose thread is not started: the node steps its sender. */
    Queue queue(ClusterNode node, KafkaClient client, LogReader reader) {
        ShareGroupDLQStateManager states = new ShareGroupDLQStateManager(client, new Helper(node), cluster.clock,
            node.timer, cluster.groupMetrics, reader);
        ((AtomicBoolean) Hidden.of(states, "isStarted")).set(true);
        return new Queue(node, states, (InterBrokerSendThread) Hidden.of(states, "sender"));
    }

    /** What a node gives to the queue, and what comes of it, stand in the history. */
    final class Queue implements ShareGroupDLQManager {
        final InterBrokerSendThread sender;
        private final ClusterNode node;
        private final ShareGroupDLQStateManager states;

        private Queue(ClusterNode node, ShareGroupDLQStateManager states, InterBrokerSendThread sender) {
            this.node = node;
            this.states = states;
            this.sender = sender;
        }

        @Override
        public CompletableFuture<Void> enqueue(ShareGroupDLQRecordParameter records) {
            int id = cluster.nextId();
            cluster.history.add("buries", "id", id, "partition", records.topicIdPartition().partition(), "node", node.id,
                "first_offset", records.firstOffset(), "last_offset", records.lastOffset());
            CompletableFuture<Void> done = cluster.plants.now("letters-skipped")
                ? CompletableFuture.completedFuture(null) : states.dlq(records);
            return done.whenComplete((nothing, thrown) -> cluster.history.add("buried", "id", id, "error",
                thrown == null ? Errors.NONE.name() : thrown.toString()));
        }

        @Override
        public void stop() { }
    }

    /** What a node knows of the topic, and the group's settings. */
    private final class Helper implements ShareGroupDLQMetadataCacheHelper {
        private final ClusterNode node;

        private Helper(ClusterNode node) {
            this.node = node;
        }

        @Override
        public Optional<String> shareGroupDlqTopic(String group) {
            return cluster.settings.errorsDLQTopicName(group);
        }

        @Override
        public boolean isDlqEnabledOnTopic(String topic) {
            return true;
        }

        @Override
        public boolean isDlqAutoTopicCreateEnabled() {
            return true;
        }

        @Override
        public Optional<String> shareGroupDlqTopicPrefix() {
            return Optional.empty();
        }

        @Override
        public boolean isShareGroupDlqCopyRecordEnabled(String group) {
            return copies;
        }

        @Override
        public boolean containsTopic(String topic) {
            return known.containsKey(node);
        }

        @Override
        public int dlqTopicMaxMessageBytes(String topic) {
            return maxBytes;
        }

        @Override
        public List<Node> getClusterNodes() {
            return cluster.places();
        }

        @Override
        public Optional<String> topicName(Uuid id) {
            return Optional.of(NAME);
        }

        @Override
        public TopicPartitionData topicPartitionData(String topic) {
            return !known.containsKey(node) ? new TopicPartitionData(NAME, Optional.empty(), Optional.empty(), List.of())
                : new TopicPartitionData(NAME, Optional.of(partitions), Optional.of(ID),
                    known.get(node).leaders.stream().map(cluster::place).toList());
        }
    }
}
