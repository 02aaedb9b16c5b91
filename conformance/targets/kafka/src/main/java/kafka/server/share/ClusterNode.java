package kafka.server.share;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.errors.NotLeaderOrFollowerException;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.CreateTopicsRequest;
import org.apache.kafka.common.requests.DeleteShareGroupStateRequest;
import org.apache.kafka.common.requests.DeleteShareGroupStateResponse;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.FindCoordinatorResponse;
import org.apache.kafka.common.requests.InitializeShareGroupStateRequest;
import org.apache.kafka.common.requests.InitializeShareGroupStateResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ReadShareGroupStateRequest;
import org.apache.kafka.common.requests.ReadShareGroupStateResponse;
import org.apache.kafka.common.requests.ReadShareGroupStateSummaryRequest;
import org.apache.kafka.common.requests.ReadShareGroupStateSummaryResponse;
import org.apache.kafka.common.requests.WriteShareGroupStateRequest;
import org.apache.kafka.common.requests.WriteShareGroupStateResponse;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.share.ShareCoordinatorConfig;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.coordinator.share.ShareCoordinatorService;
import org.apache.kafka.coordinator.share.ShareCoordinatorShard;
import org.apache.kafka.coordinator.share.metrics.ShareCoordinatorMetrics;
import org.apache.kafka.coordinator.share.metrics.ShareCoordinatorRuntimeMetrics;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.server.partition.PartitionListener;
import org.apache.kafka.server.common.ShareVersion;
import org.apache.kafka.server.share.PartitionMetadataProvider;
import org.apache.kafka.server.share.ShareGroupListener;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.fetch.InFlightBatch;
import org.apache.kafka.server.share.fetch.InFlightState;
import org.apache.kafka.server.share.persister.DefaultStatePersister;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.PersisterStateManager;
import org.apache.kafka.server.share.persister.ShareCoordinatorMetadataCacheHelper;
import org.apache.kafka.server.share.session.ShareSession;
import org.apache.kafka.server.share.session.ShareSessionCache;
import org.apache.kafka.server.share.session.ShareSessionKey;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.util.InterBrokerSendThread;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.LogReadResult;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * A broker from its start to its end: Kafka's own manager of share-partitions, persister and share
 * coordinator, with what each knows of the cluster's leaders, which may be old.
 */
final class ClusterNode {
    private static final String STATE_TOPIC = "__share_group_state";
    private static final BrokerTopicStats TOPIC_STATS = new BrokerTopicStats(false);

    /** A leader and its epoch, as a node knows them. */
    record Leader(int node, int epoch) {}

    final int id;
    final Timer timer = new NodeTimer();
    final SharePartitionCache partitions = new Partitions();
    final SharePartitionManager manager;
    final Persister persister;
    final DeadLetterTopic.Queue letters;
    final ShareService service;
    /** Kafka's coordinator of groups; null in a cluster without one. */
    final GroupCoordinatorService groups;
    private final ShareSessionCache sessions = new ShareSessionCache(1000);
    private final PeerClient peers;

    private final Cluster cluster;
    private final Purgatory purgatory;
    private final InterBrokerSendThread sender;
    private final PeerClient letterPeers;
    private final ShareCoordinatorService coordinator;
    private final Metrics metrics = new Metrics();
    private final Map<TopicPartition, Leader> leaders = new HashMap<>();
    private final Map<Integer, Leader> coordinators = new TreeMap<>();
    private Leader coordinatesGroups = new Leader(-1, -1);
    private final Map<TopicPartition, List<PartitionListener>> listeners = new HashMap<>();
    private final Map<TopicPartition, Integer> resigned = new HashMap<>();
    private final Map<SharePartitionKey, Deque<SharePartition>> objects = new HashMap<>();
    private boolean stopped;
    private long pausedUntilMs;
    private int writing;
    private Runnable emptied;

    ClusterNode(Cluster cluster, int id) {
        this.cluster = cluster;
        this.id = id;
        peers = new PeerClient(cluster, this, () -> soon(this::send));
        PersisterStateManager states = new PersisterStateManager(peers, new Coordinators(), cluster.clock, timer);
        sender = (InterBrokerSendThread) Hidden.of(states, "sender");
        letterPeers = new PeerClient(cluster, this, () -> soon(this::sendLetters));
        letters = cluster.deadLetters.queue(this, letterPeers, this::read);
        persister = new WrittenPersister(cluster, this, id, defaultPersister(states));
        coordinator = coordinator();
        coordinator.startup(() -> Cluster.STATE_PARTITIONS);
        groups = cluster.groups == null ? null : cluster.groups.at(this);
        learnTopics();
        purgatory = Purgatory.of(this);
        service = new ShareService(cluster, this);
        manager = new SharePartitionManager(purgatory, this::read, new Metadata(),
            purgatory::completeDelayedShareFetchRequest, cluster.clock, sessions, partitions,
            cluster.settings.lockMs, timer, cluster.settings.deliveryLimit, cluster.settings.maxLocks, 1000,
            persister, cluster.settings, cluster.groupMetrics, TOPIC_STATS, () -> true, letters);
        if (cluster.plants.masked && !cluster.plants.is("empty-drops")) {
            sessions.registerShareGroupListener(new LateEmpty((ShareGroupListener) Hidden.of(sessions, "shareGroupListener")));
        }
    }

    /** Kafka's own, whose thread is not started: this node steps it. */
    private static Persister defaultPersister(PersisterStateManager states) {
        Persister made = Hidden.made(DefaultStatePersister.class);
        Hidden.set(made, "stateManager", states);
        return made;
    }

    private ShareCoordinatorService coordinator() {
        ShareCoordinatorConfig config = new ShareCoordinatorConfig(new AbstractConfig(
            ShareCoordinatorConfig.CONFIG_DEF, cluster.coordinatorSettings, false));
        PartitionWriter writer = cluster.writer(this);
        ShareCoordinatorMetrics shardMetrics = new ShareCoordinatorMetrics(metrics);
        CoordinatorRuntime<ShareCoordinatorShard, CoordinatorRecord> runtime =
            new CoordinatorRuntime.Builder<ShareCoordinatorShard, CoordinatorRecord>()
                .withLogPrefix("node " + id).withLogContext(new LogContext()).withTime(cluster.clock)
                .withTimer(timer).withEventProcessor(new InOrder()).withPartitionWriter(writer)
                .withLoader(cluster.loader(this))
                .withCoordinatorShardBuilderSupplier(() -> new ShareCoordinatorShard.Builder(config))
                .withWriteTimeout(Duration.ofMillis(config.shareCoordinatorWriteTimeoutMs()))
                .withCoordinatorRuntimeMetrics(new ShareCoordinatorRuntimeMetrics(metrics))
                .withCoordinatorMetrics(shardMetrics).withSerializer(new ShareCoordinatorRecordSerde())
                .withCompression(Compression.NONE).withAppendLingerMs(config.shareCoordinatorAppendLingerMs())
                .withExecutorService(new AtOnce()).withCachedBufferMaxBytesSupplier(() -> 1 << 20).build();
        return new ShareCoordinatorService(new LogContext(), config, runtime, shardMetrics, cluster.clock, timer, writer);
    }

    /** The gate of all that this node does: later while it is paused, never once it has stopped. */
    long mayRun(long now) {
        return stopped ? VirtualTimer.NEVER : Math.max(now, pausedUntilMs);
    }

    boolean isUp() {
        return !stopped;
    }

    void pause(long untilMs) {
        pausedUntilMs = Math.max(pausedUntilMs, untilMs);
    }

    /** The process is killed: nothing of it runs again. */
    void stop() {
        stopped = true;
        metrics.close();
    }

    /** Runs something on this node after what runs now. */
    void soon(Runnable action) {
        cluster.clock.after(0, this::mayRun, action);
    }

    private void send() {
        sender.doWork();
    }

    private void sendLetters() {
        letters.sender.doWork();
    }

    /** Its connections to a node are lost with all that they carry. */
    void reset(int to) {
        peers.reset(to);
        letterPeers.reset(to);
    }

    /** The log has more records: fetches that wait look again. */
    void hasMoreRecords() {
        purgatory.completeDelayedShareFetchRequest(null);
    }

    // What it learns of topics and leaders.

    /** Its coordinator knows the topic and its partitions. */
    private void learnTopics() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        for (TopicIdPartition partition : cluster.partitions()) {
            if (partition.partition() == 0) {
                delta.replay(new TopicRecord().setName(partition.topic()).setTopicId(partition.topicId()));
            }
            delta.replay(new PartitionRecord().setTopicId(partition.topicId()).setPartitionId(partition.partition())
                .setReplicas(List.of(0, 1, 2)).setIsr(List.of(0, 1, 2)).setLeader(0)
                .setDirectories(List.of(Uuid.ZERO_UUID, Uuid.ZERO_UUID, Uuid.ZERO_UUID)));
        }
        delta.replay(new FeatureLevelRecord().setName(ShareVersion.FEATURE_NAME).setFeatureLevel(ShareVersion.SV_1.featureLevel()));
        coordinator.onMetadataUpdate(delta, delta.apply(MetadataProvenance.EMPTY));
        if (groups != null) {
            Assembled.update(GroupCoordinatorService.class, groups, delta.apply(MetadataProvenance.EMPTY), delta);
        }
    }

    void learnLeader(TopicPartition partition, Leader leader) {
        Leader known = leaders.get(partition);
        if (known != null && known.epoch() >= leader.epoch()) {
            return;
        }
        leaders.put(partition, leader);
        if (known != null && known.node() == id && leader.node() != id) {
            cluster.history.add("resigned", "partition", partition.partition(), "node", id, "leader_epoch", known.epoch());
            resigned.put(partition, known.epoch());
            if (!cluster.plants.is("resigns-in-name")) {
                follow(partition);
            }
        }
    }

    private void follow(TopicPartition partition) {
        List.copyOf(listeners.getOrDefault(partition, List.of())).forEach(each -> each.onBecomingFollower(partition));
    }

    /** The object of a leader epoch that is over is removed, if it is the present one, and learns nothing of it. */
    void forget(TopicIdPartition partition, int epoch) {
        if (epochOf(partition) == epoch) {
            follow(partition.topicPartition());
        }
    }

    void learnCoordinator(int partition, Leader leader) {
        Leader known = coordinators.get(partition);
        if (known != null && known.epoch() >= leader.epoch()) {
            return;
        }
        coordinators.put(partition, leader);
        if (leader.node() == id) {
            coordinator.onElection(partition, leader.epoch());
        } else if (known != null && known.node() == id) {
            coordinator.onResignation(partition, OptionalInt.of(leader.epoch()));
        }
    }

    void learnGroups(Leader leader) {
        if (coordinatesGroups.epoch() >= leader.epoch()) {
            return;
        }
        boolean resigns = coordinatesGroups.node() == id;
        coordinatesGroups = leader;
        if (leader.node() == id) {
            groups.onElection(0, leader.epoch());
        } else if (resigns) {
            groups.onResignation(0, OptionalInt.of(leader.epoch()));
        }
    }

    /** The leader epoch of the present object of a share-partition; -1 without one. */
    int epochOf(TopicIdPartition partition) {
        SharePartition found = partitions.get(new SharePartitionKey(cluster.group, partition));
        return found == null ? -1 : found.leaderEpoch();
    }

    /** The leader epoch of the newest object by which a member holds a record: a fetch may wait for one of before. */
    int epochOf(TopicIdPartition partition, String member, long offset) {
        return objects.get(new SharePartitionKey(cluster.group, partition)).stream()
            .filter(each -> holds(each, member, offset)).mapToInt(SharePartition::leaderEpoch).findFirst().orElseThrow();
    }

    private static boolean holds(SharePartition object, String member, long offset) {
        Map.Entry<Long, InFlightBatch> found = object.cachedState().floorEntry(offset);
        if (found == null || found.getValue().lastOffset() < offset) {
            return false;
        }
        return member.equals(stateOf(found.getValue(), offset).memberId());
    }

    long startOf(TopicIdPartition partition) {
        SharePartition found = partitions.get(new SharePartitionKey(cluster.group, partition));
        return found == null ? -1 : found.startOffset();
    }

    // Members that leave.

    /** A member has closed its session, after its last acknowledgements: what it holds is released. */
    void closed(String member) {
        Map<Integer, Integer> ids = releases(member, "closes");
        manager.releaseSession(cluster.group, member).thenAccept(released -> released.forEach((partition, data) -> {
            if (ids.containsKey(partition.partition())) {
                cluster.history.add("acknowledged", "id", ids.get(partition.partition()), "error",
                    Errors.forCode(data.errorCode()));
            }
        }));
    }

    /** A connection of a member is gone: with the session of it, what the member holds is released. */
    void disconnected(String member, String connection) {
        ShareSession session = sessions.get(new ShareSessionKey(cluster.group, member));
        if (session != null && session.connectionId().equals(connection)) {
            releases(member, "is disconnected");
        }
        if (cluster.plants.masked && !cluster.plants.is("gone-fetches")) {
            purgatory.forget(member);
        }
        sessions.connectionDisconnectListener().onDisconnect(connection);
    }

    /** Tells of what a member holds by its session, as of what it releases itself; returns the ids by partition. */
    private Map<Integer, Integer> releases(String member, String how) {
        Map<Integer, Integer> ids = new HashMap<>();
        Set<InFlightState> states = Collections.newSetFromMap(new IdentityHashMap<>());
        boolean ends = sessions.get(new ShareSessionKey(cluster.group, member)) != null;
        int left = sessions.size() - (ends ? 1 : 0);
        cluster.history.add("left", "member", member, "node", id, "how", how, "sessions", left);
        for (TopicIdPartition partition : manager.cachedTopicIdPartitionsInShareSession(cluster.group, member)) {
            SharePartition found = partitions.get(new SharePartitionKey(cluster.group, partition));
            List<long[]> held = new ArrayList<>();
            for (InFlightBatch batch : found == null ? List.<InFlightBatch>of() : found.cachedState().values()) {
                for (long offset = batch.firstOffset(); offset <= batch.lastOffset(); offset++) {
                    if (holds(found, member, offset)) {
                        states.add(stateOf(batch, offset));
                        held.add(new long[] {offset, offset, AcknowledgeType.RELEASE.id});
                    }
                }
            }
            if (!held.isEmpty()) {
                ids.put(partition.partition(), cluster.nextId());
                cluster.history.add("acknowledges", "id", ids.get(partition.partition()), "partition",
                    partition.partition(), "node", id, "leader_epoch", found.leaderEpoch(), "start_offset",
                    found.startOffset(), "member", member, "batches", held);
            }
        }
        cluster.plants.leaves(this, cluster.members(), states, how, left);
        return ids;
    }

    /** The state of a record that a member holds by the present object of a share-partition, if it does. */
    Optional<InFlightState> held(TopicIdPartition partition, String member, long offset) {
        SharePartition found = partitions.get(new SharePartitionKey(cluster.group, partition));
        return found != null && holds(found, member, offset)
            ? Optional.of(stateOf(found.cachedState().floorEntry(offset).getValue(), offset)) : Optional.empty();
    }

    private static InFlightState stateOf(InFlightBatch batch, long offset) {
        return batch.offsetState() == null ? (InFlightState) Hidden.of(batch, "batchState") : batch.offsetState().get(offset);
    }

    /** The leader as this node knows it. */
    Leader knownLeader(TopicPartition partition) {
        return leaders.getOrDefault(partition, new Leader(-1, -1));
    }

    boolean leads(TopicPartition partition) {
        Leader known = leaders.get(partition);
        return known != null && known.node() == id;
    }

    // What it is asked.

    /** A request of another node; the answer may come later. */
    void handle(AbstractRequest request, Consumer<AbstractResponse> answer) {
        if (request instanceof FindCoordinatorRequest find) {
            answer.accept(find(find));
        } else if (request instanceof WriteShareGroupStateRequest write) {
            coordinator.writeState(null, write.data())
                .thenAccept(data -> answer.accept(new WriteShareGroupStateResponse(data)));
        } else if (request instanceof ReadShareGroupStateRequest read) {
            coordinator.readState(null, read.data())
                .thenAccept(data -> answer.accept(new ReadShareGroupStateResponse(data)));
        } else if (request instanceof InitializeShareGroupStateRequest initialize) {
            cluster.plants.initializes(initialize.data());
            cluster.history.initializes(initialize.data(), 1);
            coordinator.initializeState(null, initialize.data()).thenAccept(data -> {
                InitializeShareGroupStateResponse response = new InitializeShareGroupStateResponse(data);
                cluster.history.initializes(initialize.data(), response.errorCounts().containsKey(Errors.NONE) ? 0 : -1);
                answer.accept(response);
            });
        } else if (request instanceof DeleteShareGroupStateRequest delete) {
            cluster.plants.deletes(delete.data());
            coordinator.deleteState(null, delete.data())
                .thenAccept(data -> answer.accept(new DeleteShareGroupStateResponse(data)));
        } else if (request instanceof ReadShareGroupStateSummaryRequest summary) {
            coordinator.readStateSummary(null, summary.data())
                .thenAccept(data -> answer.accept(new ReadShareGroupStateSummaryResponse(data)));
        } else if (request instanceof CreateTopicsRequest) {
            answer.accept(cluster.deadLetters.create());
        } else if (request instanceof ProduceRequest produce) {
            answer.accept(cluster.deadLetters.append(this, produce));
        } else {
            throw new IllegalArgumentException("no node answers " + request);
        }
    }

    private FindCoordinatorResponse find(FindCoordinatorRequest request) {
        String key = request.data().coordinatorKeys().isEmpty()
            ? request.data().key() : request.data().coordinatorKeys().get(0);
        Leader leader = coordinators.get(coordinator.partitionFor(SharePartitionKey.getInstance(key)));
        FindCoordinatorResponseData.Coordinator row = new FindCoordinatorResponseData.Coordinator().setKey(key);
        if (leader == null) {
            row.setErrorCode(Errors.COORDINATOR_NOT_AVAILABLE.code());
        } else {
            Node place = cluster.place(leader.node());
            row.setNodeId(place.id()).setHost(place.host()).setPort(place.port());
        }
        return new FindCoordinatorResponse(new FindCoordinatorResponseData().setCoordinators(List.of(row)));
    }

    private CompletableFuture<LinkedHashMap<TopicIdPartition, LogReadResult>> read(FetchParams params,
            Set<TopicIdPartition> wanted, Map<TopicIdPartition, Long> offsets, Map<TopicIdPartition, Integer> sizes,
            boolean minOne) {
        LinkedHashMap<TopicIdPartition, LogReadResult> out = new LinkedHashMap<>();
        for (TopicIdPartition partition : wanted) {
            if (!leads(partition.topicPartition())) {
                out.put(partition, new LogReadResult(Errors.NOT_LEADER_OR_FOLLOWER));
                continue;
            }
            Log log = cluster.log(partition.partition());
            long offset = offsets.get(partition);
            if (offset < log.start()) {
                cluster.plants.outOfRange(partitions.get(new SharePartitionKey(cluster.group, partition)), log.start());
                out.put(partition, new LogReadResult(Errors.OFFSET_OUT_OF_RANGE));
                continue;
            }
            FetchDataInfo read = cluster.plants.read(log, offset, params.isolation);
            out.put(partition, new LogReadResult(read, Optional.empty(), log.end(), log.start(), log.end(), -1,
                cluster.clock.milliseconds(), OptionalLong.of(log.end(FetchIsolation.TXN_COMMITTED)), OptionalInt.empty(), Errors.NONE));
        }
        return CompletableFuture.completedFuture(out);
    }

    /** Kafka's, which also keeps the objects that are not present any more. */
    private final class Partitions extends SharePartitionCache {
        @Override
        public SharePartition computeIfAbsent(SharePartitionKey key, Function<SharePartitionKey, SharePartition> make) {
            return super.computeIfAbsent(key, wanted -> {
                SharePartition made = make.apply(wanted);
                objects.computeIfAbsent(key, k -> new ArrayDeque<>()).addFirst(made);
                return made;
            });
        }
    }

    /** A write of a leader here begins, or was answered. */
    void writes(int more) {
        writing += more;
        if (writing == 0 && emptied != null && sessions.size() == 0) {
            emptied.run();
            emptied = null;
        }
    }

    /** Kafka's, where it is masked that share-partitions are dropped while they write. */
    private final class LateEmpty implements ShareGroupListener {
        private final ShareGroupListener kafka;

        private LateEmpty(ShareGroupListener kafka) {
            this.kafka = kafka;
        }

        @Override
        public void onMemberLeave(String group, String member) {
            kafka.onMemberLeave(group, member);
        }

        @Override
        public void onGroupEmpty(String group) {
            emptied = () -> kafka.onGroupEmpty(group);
            writes(0);
        }
    }

    /** Adds to the virtual clock, through this node's gate. */
    private final class NodeTimer implements Timer {
        @Override
        public void add(TimerTask task) {
            long delayMs = cluster.plants.delayMs(task);
            if (delayMs >= 0) {
                cluster.clock.add(task, delayMs, ClusterNode.this::mayRun);
            }
        }

        @Override
        public boolean advanceClock(long ms) {
            throw new UnsupportedOperationException("the cluster moves the clock");
        }

        @Override
        public int size() {
            return cluster.clock.size();
        }

        @Override
        public void close() { }
    }

    /** Which node leads which partition of the state topic, as this node knows it. */
    private final class Coordinators implements ShareCoordinatorMetadataCacheHelper {
        private final Map<SharePartitionKey, Integer> places = new HashMap<>();

        @Override
        public boolean containsTopic(String topic) {
            return STATE_TOPIC.equals(topic);
        }

        @Override
        public Node getShareCoordinator(SharePartitionKey key, String topic) {
            Leader leader = coordinators.get(places.computeIfAbsent(key, coordinator::partitionFor));
            return leader == null ? Node.noNode() : cluster.place(leader.node());
        }

        @Override
        public List<Node> getClusterNodes() {
            return cluster.places();
        }
    }

    /** The log and its leaders, as this node knows them. */
    private final class Metadata implements PartitionMetadataProvider {
        @Override
        public long offsetForEarliestTimestamp(TopicIdPartition partition, int epoch) {
            long start = cluster.log(partition.partition()).start();
            return start + (start > 0 && cluster.plants.is("deleted-too-far") ? 10 : 0);
        }

        @Override
        public long offsetForLatestTimestamp(TopicIdPartition partition, int epoch) {
            return cluster.latest(partition.partition());
        }

        @Override
        public long offsetForTimestamp(TopicIdPartition partition, long timestamp, int epoch) {
            return 0;
        }

        @Override
        public LogOffsetMetadata endOffsetMetadata(TopicIdPartition partition, FetchIsolation isolation) {
            Log log = cluster.log(partition.partition());
            return log.place(log.end(isolation));
        }

        @Override
        public int leaderEpoch(TopicIdPartition partition) {
            if (!leads(partition.topicPartition())) {
                throw new NotLeaderOrFollowerException("node " + id + " does not lead " + partition);
            }
            int epoch = leaders.get(partition.topicPartition()).epoch();
            return cluster.plants.is("old-epoch") ? resigned.getOrDefault(partition.topicPartition(), epoch) : epoch;
        }

        @Override
        public boolean addPartitionListener(TopicIdPartition partition, PartitionListener listener) {
            return listeners.computeIfAbsent(partition.topicPartition(), k -> new ArrayList<>()).add(listener);
        }

        @Override
        public void removePartitionListener(TopicIdPartition partition, PartitionListener listener) {
            listeners.getOrDefault(partition.topicPartition(), new ArrayList<>()).remove(listener);
        }
    }
}
