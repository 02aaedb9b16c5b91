package kafka.server.share;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.message.ShareAcknowledgeResponseData;
import org.apache.kafka.common.message.ShareFetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ShareRequestMetadata;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;

/**
 * A member of the group: it fetches from each leader that it knows, keeps records for a while, and
 * acknowledges most of them, in sessions as a share consumer has them. It may leave, by closing its sessions
 * or without a word, and joins again as another member.
 */
final class ShareMember implements Member {
    private static final long REQUEST_TIMEOUT_MS = 5_000;
    private static final long BEAT_MS = 500;
    private static final int LEAVES = -1;
    private static final Set<Errors> UNKNOWN = Set.of(Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_MEMBER_EPOCH, Errors.GROUP_ID_NOT_FOUND);
    private static final byte ACCEPT = 1;
    private static final byte RELEASE = 2;
    private static final byte REJECT = 3;
    private static final byte RENEW = 4;

    /** A member's session with a node, and how many connections it has had. */
    private static final class Session {
        private final String member;
        private int connection;
        private int epoch;
        private boolean busy;
        private int request;
        private List<TopicIdPartition> known = List.of();
        private final Map<TopicIdPartition, List<ShareAcknowledgementBatch>> finished = new LinkedHashMap<>();

        private Session(String member) {
            this.member = member;
        }
    }

    private final Cluster cluster;
    private final String name;
    private final int maxRecords;
    private final byte mode;
    private final int workMs;
    private final Draws random;
    private final Map<Integer, Session> sessions = new HashMap<>();
    private final Map<Integer, Session> closing = new HashMap<>();
    private Map<Integer, List<TopicIdPartition>> ledBy;
    private String member;
    private int times;
    private boolean away;
    private int memberEpoch;
    private List<TopicIdPartition> assigned;

    ShareMember(Cluster cluster, String name, int maxRecords, int mode, int workMs) {
        this.cluster = cluster;
        this.name = name;
        this.member = name;
        this.maxRecords = maxRecords;
        this.mode = (byte) mode;
        this.workMs = workMs;
        random = cluster.workload.of(name);
        assigned = cluster.groups == null ? cluster.partitions() : List.of();
    }

    @Override
    public void start() {
        learn();
        if (cluster.groups != null) {
            beat();
        }
        tick();
    }

    private void learn() {
        ledBy = assigned.stream().collect(Collectors.groupingBy(each -> cluster.leader(each.partition()).node()));
        cluster.clock.after(300 + random.nextInt(1_000), now -> now, this::learn);
    }

    // The group.

    /** Joins, or goes on as a member; one that the coordinator does not know joins again. */
    private void beat() {
        String who = member;
        if (away) {
            cluster.clock.after(BEAT_MS, now -> now, this::beat);
            return;
        }
        cluster.groups.heartbeat(who, memberEpoch, answer -> {
            if (answer != null && who.equals(member) && !away) {
                Errors error = Errors.forCode(answer.errorCode());
                if (error == Errors.NONE) {
                    memberEpoch = answer.memberEpoch();
                    assigned = answer.assignment() == null ? assigned : answer.assignment().topicPartitions().stream()
                        .flatMap(topic -> topic.partitions().stream()).map(cluster.partitions()::get).toList();
                } else if (UNKNOWN.contains(error)) {
                    memberEpoch = 0;
                    assigned = List.of();
                }
            }
            cluster.clock.after(BEAT_MS, now -> now, this::beat);
        });
    }

    private void tick() {
        for (int node = 0; node < cluster.size(); node++) {
            Session session = sessions.computeIfAbsent(node, k -> new Session(member));
            if (!session.busy && !away) {
                ask(node, session);
            }
            Session last = closing.get(node);
            if (last != null && !last.busy) {
                closing.remove(node);
                close(node, last);
            }
        }
        cluster.clock.after(5 + random.nextInt(60), now -> now, this::tick);
    }

    private void ask(int node, Session session) {
        String who = name + " to " + node;
        boolean acknowledges = session.epoch > 0 && !session.finished.isEmpty();
        String what = name + (acknowledges ? " acknowledges to node " : " fetches from node ") + node;
        if (!(acknowledges || ledBy.containsKey(node)) || !cluster.script.does(who, what)) {
            return;
        }
        if (acknowledges) {
            acknowledge(node, session);
        } else {
            fetch(node, session, ledBy.get(node), random.of(node, cluster.script.lastMs(who)));
        }
    }

    /** Asks a node something, once; no answer in time ends the session, as its fate is unknown. */
    private <T> void request(int node, Session session, java.util.function.BiConsumer<ClusterNode, Consumer<T>> ask,
            Consumer<T> take) {
        session.busy = true;
        int number = ++session.request;
        ClusterNode broker = cluster.node(node);
        PeerClient.Connection connection = new PeerClient.Connection(session.member, node, session.connection);
        Network network = cluster.network;
        cluster.clock.after(network.delayMs(connection), network.gate(Network.CLIENTS, node, broker::mayRun), () ->
            ask.accept(broker, answer -> cluster.clock.after(network.delayMs(List.of(connection)),
                network.gate(Network.CLIENTS, node, now -> now), () -> {
                    if (session.request == number && session.busy) {
                        session.busy = false;
                        take.accept(answer);
                    }
                })));
        cluster.clock.after(REQUEST_TIMEOUT_MS, now -> now, () -> {
            if (session.request == number && session.busy) {
                session.busy = false;
                session.epoch = 0;
                disconnect(node, session);
            }
        });
    }

    @Override
    public String member() {
        return member;
    }

    @Override
    public String toString() {
        return name;
    }

    // Leaving.

    /** Leaves, by closing its sessions or without a word, unless it is away, and joins again after a while. */
    @Override
    public void leave(boolean closes, long backAfterMs) {
        if (away) {
            return;
        }
        away = true;
        if (cluster.groups != null) {
            String who = member;
            if (closes && memberEpoch > 0) {
                cluster.clock.after(random.nextInt(random.nextInt(4) == 0 ? 20 : 1_500), now -> now, () ->
                    cluster.groups.heartbeat(who, LEAVES, answer -> { }));
            }
            memberEpoch = 0;
            assigned = List.of();
            ledBy = Map.of();
        }
        sessions.forEach((node, session) -> {
            if (closes && session.epoch > 0) {
                closing.put(node, session);
            } else {
                disconnect(node, session);
            }
        });
        cluster.clock.after(backAfterMs, now -> now, () -> {
            member = name + "." + ++times;
            sessions.clear();
            away = false;
        });
    }

    /** A connection ends; the node learns it after what was sent before. */
    private void disconnect(int node, Session session) {
        PeerClient.Connection connection = new PeerClient.Connection(session.member, node, session.connection++);
        ClusterNode broker = cluster.node(node);
        cluster.clock.after(cluster.network.delayMs(connection),
            cluster.network.gate(Network.CLIENTS, node, broker::mayRun), () -> broker.disconnected(session.member, connection.toString()));
    }

    /** The last acknowledgement of a session ends it. */
    private void close(int node, Session session) {
        session.epoch = ShareRequestMetadata.FINAL_EPOCH;
        acknowledge(node, session);
    }

    // Fetching.

    private record Fetched(Errors error, Map<TopicIdPartition, ShareFetchResponseData.PartitionData> partitions) {}

    private void fetch(int node, Session session, List<TopicIdPartition> wanted, Draws draws) {
        int epoch = session.epoch;
        List<TopicIdPartition> added = wanted.stream().filter(each -> epoch == 0 || !session.known.contains(each)).toList();
        List<TopicIdPartition> forgotten = epoch == 0 ? List.of()
            : session.known.stream().filter(each -> !wanted.contains(each)).toList();
        PeerClient.Connection connection = new PeerClient.Connection(session.member, node, session.connection);
        this.<Fetched>request(node, session, (broker, answer) ->
            serveFetch(broker, connection, epoch, added, forgotten, answer),
            fetched -> {
                if (fetched.error() != Errors.NONE) {
                    session.epoch = 0;
                    return;
                }
                session.epoch = epoch + 1;
                session.known = wanted;
                fetched.partitions().forEach((partition, data) -> data.acquiredRecords().forEach(range ->
                    work(draws, session, partition, range.firstOffset(), range.lastOffset())));
            });
    }

    private void serveFetch(ClusterNode broker, PeerClient.Connection from, int epoch, List<TopicIdPartition> added,
            List<TopicIdPartition> forgotten, Consumer<Fetched> answer) {
        String member = from.from().toString();
        List<TopicIdPartition> valid;
        try {
            valid = broker.service.context(member, epoch, added, forgotten, false, from.toString())
                .getErroneousAndValidTopicIdPartitions().validTopicIdPartitions();
        } catch (RuntimeException refused) {
            answer.accept(new Fetched(Errors.forException(refused), Map.of()));
            return;
        }
        broker.service.fetch(member, epoch, mode, maxRecords, Math.max(1, maxRecords / 2), valid)
            .whenComplete((partitions, thrown) -> answer.accept(thrown == null ? new Fetched(Errors.NONE, partitions)
                : new Fetched(Errors.forException(thrown), Map.of())));
    }

    // Working on what it got.

    private void work(Draws draws, Session session, TopicIdPartition partition, long first, long last) {
        if (!cluster.isDraining() && draws.nextInt(12) == 0) {
            return; // The member forgets them: their locks end.
        }
        if (last > first && draws.nextInt(4) == 0) {
            long middle = first + draws.nextInt((int) (last - first));
            work(draws, session, partition, first, middle);
            work(draws, session, partition, middle + 1, last);
            return;
        }
        cluster.clock.after(1 + draws.nextInt(workMs), now -> now, () -> {
            byte type = type(draws);
            session.finished.computeIfAbsent(partition, k -> new ArrayList<>())
                .add(new ShareAcknowledgementBatch(first, last, List.of(type)));
            if (type == RENEW) {
                work(draws, session, partition, first, last);
            }
        });
    }

    private byte type(Draws draws) {
        int drawn = cluster.isDraining() ? 0 : draws.nextInt(20);
        return drawn < 14 ? ACCEPT : drawn < 17 ? RELEASE : drawn < 19 ? REJECT : RENEW;
    }

    private record Acknowledged(Errors error, Map<TopicIdPartition, ShareAcknowledgeResponseData.PartitionData> partitions) {}

    private void acknowledge(int node, Session session) {
        int epoch = session.epoch;
        Map<TopicIdPartition, List<ShareAcknowledgementBatch>> batches = new LinkedHashMap<>();
        session.finished.forEach((partition, rows) -> {
            rows.sort((one, other) -> Long.compare(one.firstOffset(), other.firstOffset()));
            List<ShareAcknowledgementBatch> apart = new ArrayList<>();
            for (ShareAcknowledgementBatch row : rows) {
                if (apart.isEmpty() || apart.get(apart.size() - 1).lastOffset() < row.firstOffset()) {
                    apart.add(row);
                }
            }
            batches.put(partition, apart);
        });
        session.finished.clear();
        this.<Acknowledged>request(node, session, (broker, answer) -> serveAcknowledge(broker, session.member, epoch, batches, answer),
            answered -> {
                session.epoch = answered.error() == Errors.NONE ? epoch + 1 : 0;
                if (epoch == ShareRequestMetadata.FINAL_EPOCH) {
                    disconnect(node, session);
                }
            });
    }

    private void serveAcknowledge(ClusterNode broker, String from, int epoch,
            Map<TopicIdPartition, List<ShareAcknowledgementBatch>> batches, Consumer<Acknowledged> answer) {
        try {
            broker.manager.acknowledgeSessionUpdate(cluster.group, from, epoch);
        } catch (RuntimeException refused) {
            answer.accept(new Acknowledged(Errors.forException(refused), Map.of()));
            return;
        }
        broker.service.acknowledge(from, batches).whenComplete((partitions, thrown) -> {
            if (thrown != null) {
                answer.accept(new Acknowledged(Errors.forException(thrown), Map.of()));
                return;
            }
            if (epoch == ShareRequestMetadata.FINAL_EPOCH) {
                broker.service.close(from, epoch);
            }
            answer.accept(new Acknowledged(Errors.NONE, partitions));
        });
    }
}
