package kafka.server.share;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Writer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.share.ShareCoordinatorConfig;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.metrics.ShareGroupMetrics;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryParameters;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.common.message.InitializeShareGroupStateRequestData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.ReadShareGroupStateSummaryRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.MetadataResponse;

/**
 * A cluster from its start to its rest, on one clock: nodes, the leaders as they are, logs, members and
 * faults. All that happens is drawn from one seed. A part of the draws has a stream of its own, so that a
 * fault that is left out alters as little as it can.
 */
final class Cluster implements AutoCloseable {
    static final int STATE_PARTITIONS = 2;
    private static final int NODES = 3;
    private static final int PARTITIONS = 2;
    private static final long START_MS = 1_700_000_000_000L;
    private static final String TOPIC = "t";
    private static final Uuid TOPIC_ID = new Uuid(1, 1);
    private static final int CONSUMERS = 25;
    private static final int GROUPS = 33;
    private static final String LATEST = "latest";
    private static final long QUIET_MS = 120_000;
    /** How often a share coordinator does its periodic jobs, as Kafka has it. */
    private static final int JOB_MS = 300_000;
    private static final long AT_REST_MS = 20_000;
    private static final ObjectMapper JSON = new ObjectMapper();

    final VirtualTimer clock = new VirtualTimer(START_MS);
    final Network network;
    final History history;
    final Settings settings;
    final Plants plants;
    final Map<String, String> coordinatorSettings;
    final String group;
    final Draws workload;
    final Script script;
    final ShareGroupMetrics groupMetrics;
    final DeadLetterTopic deadLetters;
    /** The coordinator of the group; null where members know by themselves what there is. */
    final Groups groups;
    /** Whether faults of dead letters are drawn: their numbers stay where the queue is left out. */
    final boolean letterFaults;

    private final Random spread;
    private final Random transactions;
    private final Random production;
    private final boolean transactional;
    private final Random beginning;
    private final boolean beginsLate;
    /** Until when nothing is produced to a partition. */
    private final Map<Integer, Long> quietUntil = new HashMap<>();
    private final Map<Integer, Long> latest = new HashMap<>();
    private final List<ClusterNode> nodes = new ArrayList<>();
    private final List<TopicIdPartition> partitions = new ArrayList<>();
    private final List<ClusterNode.Leader> leaders = new ArrayList<>();
    private final List<Log> logs = new ArrayList<>();
    private final List<StateTopic> states = new ArrayList<>();
    private final List<Member> members = new ArrayList<>();
    private final long faultsMs;
    private int lastId;
    private boolean draining;

    Cluster(long seed, String group, Writer out, String planted, boolean masked, Script script) {
        this.group = group;
        this.script = script;
        script.begins(clock);
        plants = new Plants(planted, masked, stream(seed, 6));
        groupMetrics = new ShareGroupMetrics(clock);
        history = new History(clock, group, out);
        network = new Network(clock, stream(seed, 1));
        workload = stream(seed, 2);
        production = workload.of("production");
        spread = stream(seed, 3);
        transactions = stream(seed, 9);
        transactional = transactions.nextInt(3) == 0;
        String isolation = transactional && transactions.nextInt(4) > 0 && isSet("isolation_level", "read_committed")
            ? "read_committed" : "read_uncommitted";
        Random coordinated = stream(seed, GROUPS);
        groups = coordinated.nextInt(12) == 0 ? new Groups(this, coordinated, 3_000 + coordinated.nextInt(27_000)) : null;
        Random letters = stream(seed, 20);
        letterFaults = letters.nextInt(4) == 0;
        boolean buries = letterFaults && groups == null && isSet("dead_letter_queue", "there");
        deadLetters = new DeadLetterTopic(this, letters);
        beginning = stream(seed, 22);
        beginsLate = beginning.nextInt(6) == 0 && groups == null && isSet("auto_offset_reset", LATEST);
        Random drawn = stream(seed, 4);
        ObjectNode config = JSON.createObjectNode().put("delivery_count_limit", set("delivery_count_limit", 2 + drawn.nextInt(4), 5))
            .put("partition_max_record_locks", set("partition_max_record_locks", 20 + drawn.nextInt(180), 2_000))
            .put("record_lock_duration_ms", set("record_lock_duration_ms", 1000 + drawn.nextInt(6000), 30_000)).put("auto_offset_reset", beginsLate ? LATEST : "earliest")
            .put("isolation_level", isolation).put("dead_letter_queue", buries);
        settings = new Settings(config);
        int snapshots = set("updates_per_snapshot", 1 + drawn.nextInt(50), 500);
        int linger = set("append_linger_ms", drawn.nextBoolean() ? 0 : drawn.nextInt(10), 5);
        Random jobs = stream(seed, 24);
        boolean prunes = jobs.nextInt(3) == 0;
        int pruning = prunes ? set("prune_interval_ms", 200 + jobs.nextInt(5_000), JOB_MS) : JOB_MS;
        int cold = prunes ? set("cold_snapshot_interval_ms", 200 + jobs.nextInt(10_000), JOB_MS) : JOB_MS;
        coordinatorSettings = Map.of(
            ShareCoordinatorConfig.SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT_CONFIG, String.valueOf(snapshots),
            ShareCoordinatorConfig.APPEND_LINGER_MS_CONFIG, String.valueOf(linger),
            ShareCoordinatorConfig.STATE_TOPIC_PRUNE_INTERVAL_MS_CONFIG, String.valueOf(pruning),
            ShareCoordinatorConfig.COLD_PARTITION_SNAPSHOT_INTERVAL_MS_CONFIG, String.valueOf(cold));
        faultsMs = 5_000 + drawn.nextInt(25_000);
        history.add("settings", "delivery_count_limit", settings.deliveryLimit, "partition_max_record_locks",
            settings.maxLocks, "record_lock_duration_ms", settings.lockMs, "updates_per_snapshot", snapshots,
            "isolation_level", isolation, "dead_letter_queue", buries, "auto_offset_reset", settings.reset);
        for (int number = 0; number < PARTITIONS; number++) {
            partitions.add(new TopicIdPartition(TOPIC_ID, new TopicPartition(TOPIC, number)));
            logs.add(new Log());
        }
        for (int number = 0; number < STATE_PARTITIONS; number++) {
            states.add(new StateTopic(this, new TopicPartition("__share_group_state", number), stream(seed, 10 + number),
                new ShareCoordinatorRecordSerde(), history::durable));
        }
        for (int id = 0; id < NODES; id++) {
            nodes.add(new ClusterNode(this, id));
        }
        for (int number = 0; number < STATE_PARTITIONS; number++) {
            moveCoordinator(number, drawn.nextInt(NODES));
        }
        for (int number = 0; number < PARTITIONS; number++) {
            leaders.add(new ClusterNode.Leader(-1, -1));
            moveLeader(number, drawn.nextInt(NODES));
        }
        if (groups != null) {
            history.tellsStates();
            groups.move(coordinated.nextInt(NODES));
        }
        int count = 2 + drawn.nextInt(3);
        Draws consumers = stream(seed, CONSUMERS);
        boolean kafkas = consumers.nextInt(3) == 0 && groups == null;
        for (int number = 0; number < count; number++) {
            members.add(kafkas ? new KafkaMember(this, number, consumers) : new ShareMember(this, "m" + number, 1 + drawn.nextInt(40), drawn.nextInt(4) == 0 ? 1 : 0,
                50 + drawn.nextInt(3_000)));
        }
    }

    /** Forgets the metrics that Kafka's classes registered for the whole process: they hold the nodes. */
    @Override
    public void close() {
        var registry = KafkaYammerMetrics.defaultRegistry();
        List.copyOf(registry.allMetrics().keySet()).forEach(registry::removeMetric);
    }

    private Draws stream(long seed, int number) {
        Draws random = new Draws(seed * 1_000_003 + number, script, String.valueOf(number));
        random.nextLong();
        return random;
    }

    /** Whether a setting is other than Kafka has it. */
    private boolean isSet(String name, Object value) {
        return script.does(name, name + " is " + value);
    }

    private int set(String name, int value, int otherwise) {
        return isSet(name, value) ? value : otherwise;
    }

    /** Runs it all: a start, faults, quiet, and rest. */
    void run(Faults faults, Set<Integer> without) {
        runUntil(clock.milliseconds() + 3_000);
        if (groups == null) {
            initializeState();
        }
        runUntil(clock.milliseconds() + 10_000);
        long began = clock.milliseconds();
        if (beginsLate) {
            IntStream.range(0, PARTITIONS).forEach(each -> quietUntil.put(each, began + beginning.nextInt((int) faultsMs)));
        }
        members.stream().filter(member -> script.does("member " + member, member + " takes part")).forEach(Member::start);
        produce();
        faults.draw(this, began, faultsMs, without);
        runUntil(began + faultsMs);
        network.heal();
        for (int id = 0; id < NODES; id++) {
            restart(id);
        }
        history.add("quiet");
        draining = true;
        script.over();
        runToRest(clock.milliseconds() + QUIET_MS);
        for (int number = 0; number < PARTITIONS; number++) {
            rest(number);
        }
        runUntil(clock.milliseconds() + 1_000);
    }

    private void runUntil(long untilMs) {
        while (clock.runNext(untilMs)) {
            // Each task schedules what follows from it.
        }
    }

    /** Runs until nothing has been left to do for a while, or until then. */
    private void runToRest(long untilMs) {
        long restless = clock.milliseconds();
        while (clock.milliseconds() < Math.min(untilMs, restless + AT_REST_MS)) {
            runUntil(clock.milliseconds() + 1_000);
            for (int number = 0; number < PARTITIONS; number++) {
                SharePartition found = led(number);
                if (found == null || found.startOffset() + found.deliveryCompleteCount() != logs.get(number).end()) {
                    restless = clock.milliseconds();
                }
            }
        }
    }

    /** Runs what is next while something is still awaited. */
    void runWhile(BooleanSupplier awaited) {
        long until = clock.milliseconds() + QUIET_MS;
        while (awaited.getAsBoolean()) {
            if (!clock.runNext(until)) {
                throw new IllegalStateException("an application waits for ever");
            }
        }
    }

    /** The share-partition as its leader has it, if it has one. */
    private SharePartition led(int number) {
        return nodes.get(leaders.get(number).node()).partitions.get(new SharePartitionKey(group, partitions.get(number)));
    }

    private void initializeState() {
        var rows = partitions.stream().map(partition -> new InitializeShareGroupStateRequestData.PartitionData()
            .setPartition(partition.partition()).setStateEpoch(0).setStartOffset(beginsLate ? -1 : 0)).toList();
        nodes.get(0).persister.initializeState(InitializeShareGroupStateParameters.from(
            new InitializeShareGroupStateRequestData().setGroupId(group).setTopics(List.of(
                new InitializeShareGroupStateRequestData.InitializeStateData().setTopicId(TOPIC_ID)
                    .setPartitions(rows)))));
    }

    private void produce() {
        if (!draining) {
            int partition = production.nextInt(PARTITIONS);
            int records = (int) IntStream.range(0, 1 + production.nextInt(6))
                .filter(each -> script.does("record", "a record is produced to " + partition)).count();
            if (records == 0 || quietUntil.getOrDefault(partition, 0L) > clock.milliseconds()) {
                // Nothing of this batch is wanted, or not yet.
            } else if (transactional && transactions.nextInt(3) == 0 && script.does("transaction", "in a transaction")) {
                produce(partition, records, transactions.nextInt(2));
            } else {
                logs.get(partition).append(records);
            }
            nodes.forEach(node -> node.soon(node::hasMoreRecords));
            clock.after(10 + production.nextInt(200), now -> now, this::produce);
        }
    }

    /** Produces in a transaction, which ends by itself: half of them are aborted. */
    private void produce(int partition, int records, long producer) {
        if (logs.get(partition).append(records, producer)) {
            boolean abort = transactions.nextBoolean();
            long forMs = 5 + transactions.nextInt(transactions.nextInt(4) == 0 ? 8_000 : 600);
            clock.after(forMs, now -> now, () -> {
                List<long[]> ranges = logs.get(partition).finish(producer, abort);
                if (abort) {
                    history.add("aborted", "partition", partition, "ranges", ranges);
                }
                nodes.forEach(node -> node.soon(node::hasMoreRecords));
            });
        }
    }

    private void rest(int number) {
        ClusterNode node = nodes.get(leaders.get(number).node());
        SharePartition found = led(number);
        if (found != null) {
            history.add("rest", "partition", number, "log_end_offset", logs.get(number).end(), "leader_epoch",
                found.leaderEpoch(), "start_offset", found.startOffset(), "end_offset", found.endOffset(),
                "delivery_complete_count", found.deliveryCompleteCount());
        } else if (groups != null) {
            history.add("rest", "partition", number, "log_end_offset", logs.get(number).end(), "leader_epoch", -1,
                "start_offset", -1, "end_offset", -1, "delivery_complete_count", 0);
        }
        node.persister.readSummary(ReadShareGroupStateSummaryParameters.from(new ReadShareGroupStateSummaryRequestData()
            .setGroupId(group).setTopics(List.of(new ReadShareGroupStateSummaryRequestData.ReadStateSummaryData()
                .setTopicId(TOPIC_ID).setPartitions(List.of(new ReadShareGroupStateSummaryRequestData.PartitionData()
                    .setPartition(number).setLeaderEpoch(-1)))))))
            .thenAccept(result -> {
                var told = result.topicsData().get(0).partitions().get(0);
                history.add("reported", "partition", number, "log_end_offset", logs.get(number).end(), "start_offset",
                    told.startOffset(), "delivery_complete_count", told.deliveryCompleteCount());
            });
    }

    /** Whether faults are over, so that members accept what they get. */
    boolean isDraining() {
        return draining;
    }

    int nextId() {
        return lastId++;
    }

    // Places.

    ClusterNode node(int id) {
        return nodes.get(id);
    }

    int size() {
        return NODES;
    }

    Node place(int id) {
        return new Node(id, "node-" + id, 9092);
    }

    List<Node> places() {
        return nodes.stream().map(node -> place(node.id)).toList();
    }

    Map<Uuid, String> topicNames() {
        return Map.of(TOPIC_ID, TOPIC);
    }

    /** What a consumer learns of the nodes that run, and of the leaders. */
    MetadataResponse metadata() {
        MetadataResponseData data = new MetadataResponseData().setClusterId("simulated");
        nodes.stream().filter(ClusterNode::isUp).map(node -> place(node.id)).forEach(node -> data.brokers().add(
            new MetadataResponseData.MetadataResponseBroker().setNodeId(node.id()).setHost(node.host()).setPort(node.port())));
        data.topics().add(new MetadataResponseData.MetadataResponseTopic().setName(TOPIC).setTopicId(TOPIC_ID)
            .setPartitions(partitions.stream().map(partition -> new MetadataResponseData.MetadataResponsePartition()
                .setPartitionIndex(partition.partition()).setLeaderId(leader(partition.partition()).node())
                .setLeaderEpoch(leader(partition.partition()).epoch()).setReplicaNodes(List.of(0, 1, 2))
                .setIsrNodes(List.of(0, 1, 2))).toList()));
        return new MetadataResponse(data, ApiKeys.METADATA.latestVersion());
    }

    boolean isReachable(int from, int to) {
        return nodes.get(to).isUp() && !network.isBlocked(from, to);
    }

    Log log(int partition) {
        return logs.get(partition);
    }

    /** Where the log ends; where faults are masked, where it ended for the first leader that asked. */
    long latest(int partition) {
        long end = logs.get(partition).end();
        return plants.masked && !plants.is("begins-anew") ? latest.computeIfAbsent(partition, asked -> end) : end;
    }

    List<TopicIdPartition> partitions() {
        return partitions;
    }

    /** The leader of a partition as it is. */
    ClusterNode.Leader leader(int partition) {
        return leaders.get(partition);
    }

    int coordinatorOf(int partition) {
        SharePartitionKey key = new SharePartitionKey(group, partitions.get(partition));
        return states.get(Math.abs(key.asCoordinatorKey().hashCode() % STATE_PARTITIONS)).leader();
    }

    List<Member> members() {
        return members;
    }

    // Faults.

    /** Alters a setting of the group, to a part of what it may be; returns the value. */
    String alter(int which, double part) {
        Object now = switch (which) {
            case 0 -> settings.lockMs = 1_000 + (int) (part * 6_000);
            case 1 -> settings.deliveryLimit = 2 + (int) (part * 4);
            case 2 -> settings.maxLocks = 20 + (int) (part * 180);
            default -> Settings.nameOf(settings.isolation =
                part < 0.5 ? FetchIsolation.TXN_COMMITTED : FetchIsolation.HIGH_WATERMARK);
        };
        plants.altered(this);
        history.add("altered", "delivery_count_limit", settings.deliveryLimit, "partition_max_record_locks",
            settings.maxLocks, "record_lock_duration_ms", settings.lockMs, "isolation_level",
            Settings.nameOf(settings.isolation));
        return now.toString();
    }

    /** Another node leads from now; the nodes learn it when they do. */
    void moveLeader(int partition, int to) {
        ClusterNode.Leader next = new ClusterNode.Leader(to, leaders.get(partition).epoch() + 1);
        leaders.set(partition, next);
        TopicPartition place = partitions.get(partition).topicPartition();
        tell(node -> node.learnLeader(place, next));
    }

    void moveCoordinator(int partition, int to) {
        StateTopic state = states.get(partition);
        state.elect(nodes.get(to));
        ClusterNode.Leader next = new ClusterNode.Leader(to, state.epoch());
        tell(node -> node.learnCoordinator(partition, next));
    }

    void tell(java.util.function.Consumer<ClusterNode> news) {
        for (ClusterNode node : nodes) {
            long delay = 1 + spread.nextInt(spread.nextInt(5) == 0 ? 1_500 : 60);
            clock.after(delay, node::mayRun, () -> news.accept(node));
        }
    }

    /** A node's process is killed; what it led is led by others, soon. */
    void crash(int id) {
        nodes.get(id).stop();
        members.forEach(member -> clock.after(1, now -> now, () -> member.lost(id)));
        for (ClusterNode other : nodes) {
            if (other.id != id) {
                clock.after(1, other::mayRun, () -> other.reset(id));
            }
        }
        clock.after(100 + spread.nextInt(2_000), now -> now, () -> {
            for (int number = 0; number < PARTITIONS; number++) {
                if (leaders.get(number).node() == id && !nodes.get(id).isUp()) {
                    moveLeader(number, anyUp(id));
                }
            }
            deadLetters.leave(id);
            if (groups != null && groups.log.leader() == id && !nodes.get(id).isUp()) {
                groups.move(anyUp(id));
            }
            for (int number = 0; number < STATE_PARTITIONS; number++) {
                if (states.get(number).leader() == id && !nodes.get(id).isUp()) {
                    moveCoordinator(number, anyUp(id));
                }
            }
        });
    }

    private int anyUp(int otherwise) {
        List<Integer> up = nodes.stream().filter(ClusterNode::isUp).map(node -> node.id).toList();
        return up.isEmpty() ? otherwise : up.get(spread.nextInt(up.size()));
    }

    /** Starts a node again, if it is down. */
    void restart(int id) {
        if (nodes.get(id).isUp()) {
            return;
        }
        ClusterNode node = new ClusterNode(this, id);
        nodes.set(id, node);
        deadLetters.tell();
        if (groups != null) {
            if (groups.log.leader() == id) {
                groups.move(id);
            } else {
                clock.after(1 + spread.nextInt(60), node::mayRun, () ->
                    node.learnGroups(new ClusterNode.Leader(groups.log.leader(), groups.log.epoch())));
            }
        }
        for (int number = 0; number < PARTITIONS; number++) {
            TopicPartition place = partitions.get(number).topicPartition();
            int partition = number;
            if (leaders.get(number).node() == id) {
                moveLeader(number, id);
            } else {
                clock.after(1 + spread.nextInt(60), node::mayRun, () -> node.learnLeader(place, leaders.get(partition)));
            }
        }
        for (int number = 0; number < STATE_PARTITIONS; number++) {
            StateTopic state = states.get(number);
            int partition = number;
            if (state.leader() == id) {
                moveCoordinator(number, id);
            } else {
                clock.after(1 + spread.nextInt(60), node::mayRun, () ->
                    node.learnCoordinator(partition, new ClusterNode.Leader(state.leader(), state.epoch())));
            }
        }
    }

    // The coordinator's storage.

    PartitionWriter writer(ClusterNode node) {
        return StateTopic.writer(node, states);
    }

    CoordinatorLoader<CoordinatorRecord> loader(ClusterNode node) {
        return StateTopic.loader(node, states);
    }
}
