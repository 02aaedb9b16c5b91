package kafka.server.share;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.ShareConsumer;
import org.apache.kafka.clients.consumer.internals.SteppedConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ShareFetchResponse;

/**
 * A member that is Kafka's own share consumer, with an application that polls, works a while on what it got,
 * acknowledges it and commits one way or the other. What the application does and is told stands in the history.
 */
final class KafkaMember implements Member {
    private static final long IDLE_MS = 250;
    private static final long EMPTY_MS = 2_000;
    private static final Duration CLOSE = Duration.ofMillis(3_000);

    /** The member's process has ended: its application goes no further. */
    private static final class Killed extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    private record Told(int partition, List<Long> offsets, Errors error) {}

    /** One consumer from its start to its end. */
    private final class Process implements PeerClient.Far {
        private final String member = new Uuid(number, times).toString();
        private final PeerClient client = new PeerClient(cluster, member, Network.CLIENTS, this::mayRun, this, this::soon);
        private final SteppedConsumer consumer = new SteppedConsumer(cluster.clock, client, cluster.group, member,
            cluster.partitions().stream().map(TopicIdPartition::topicPartition).toList(), explicit, maxRecords,
            recordLimit, this::await, this::soon);
        private final ShareConsumer<byte[], byte[]> application = consumer.application();
        private final List<Told> told = new ArrayList<>();
        private boolean ended;
        private boolean stepping;
        private boolean idle;
        private long emptySinceMs = cluster.clock.milliseconds();

        private long mayRun(long now) {
            return ended ? VirtualTimer.NEVER : now;
        }

        private void begin() {
            application.setAcknowledgementCommitCallback((offsets, wrong) -> offsets.forEach((partition, told) -> told(partition, told, wrong)));
            learn();
            step();
            poll();
        }

        private void told(TopicIdPartition partition, Set<Long> offsets, Exception wrong) {
            if (cluster.plants.now("told-nothing")) {
                return;
            }
            told.add(new Told(partition.partition(), offsets.stream().sorted().toList(),
                wrong == null ? Errors.NONE : Errors.forException(wrong)));
        }

        /** Callbacks of one call come in an order that is another in each process. */
        private void tell() {
            told.sort(Comparator.comparing(Told::toString));
            told.forEach(each -> cluster.history.add("told", "member", member, "partition", each.partition, "offsets",
                each.offsets, "error", each.error));
            told.clear();
        }

        private void learn() {
            consumer.learn(cluster.metadata());
            cluster.clock.after(300 + random.nextInt(1_000), this::mayRun, this::learn);
        }

        /** The background thread takes a turn soon. */
        private void soon() {
            if (!stepping) {
                stepping = true;
                cluster.clock.after(0, this::mayRun, this::step);
            }
        }

        private void step() {
            stepping = false;
            long next = consumer.step();
            if (idle && consumer.hasRecords()) {
                idle = false;
                cluster.clock.after(0, this::mayRun, this::poll);
            }
            if (!stepping) {
                stepping = true;
                cluster.clock.after(Math.max(1, Math.min(next, IDLE_MS)), this::mayRun, this::step);
            }
        }

        /** The application waits: the time passes. */
        private void await(CompletableFuture<?> done) {
            cluster.runWhile(() -> !done.isDone() && !ended);
            if (ended) {
                throw new Killed();
            }
        }

        // The application.

        private void poll() {
            idle = false;
            if (leaves) {
                close();
                return;
            }
            if (!cluster.script.does(KafkaMember.this.toString(), KafkaMember.this + " polls")) {
                cluster.clock.after(cluster.script.waitMs(KafkaMember.this.toString(), IDLE_MS), this::mayRun, this::poll);
                return;
            }
            run(() -> {
                ConsumerRecords<byte[], byte[]> polled;
                try {
                    polled = application.poll(Duration.ZERO);
                } catch (KafkaException | IllegalStateException thrown) {
                    nothing(thrown.toString());
                    return;
                }
                tell();
                if (polled.isEmpty() || explicit && cluster.plants.now("polled-lost")) {
                    nothing("");
                } else {
                    emptySinceMs = cluster.clock.milliseconds();
                    polled.partitions().forEach(partition -> cluster.history.add("polled", "member", member, "partition",
                        partition.partition(), "offsets", polled.records(partition).stream().map(ConsumerRecord::offset).toList(),
                        "error", ""));
                    cluster.clock.after(1 + random.nextInt(workMs), this::mayRun, () -> run(() -> acknowledge(polled)));
                }
            });
        }

        private void nothing(String error) {
            if (cluster.clock.milliseconds() - emptySinceMs >= EMPTY_MS) {
                emptySinceMs = cluster.clock.milliseconds();
                cluster.history.add("polled", "member", member, "partition", -1, "offsets", List.of(), "error", error);
            }
            idle = true;
            cluster.clock.after(IDLE_MS, this::mayRun, () -> {
                if (idle) {
                    poll();
                }
            });
        }

        private void run(Runnable call) {
            try {
                call.run();
            } catch (Killed over) {
                // Its process has ended.
            }
            tell();
        }

        private void acknowledge(ConsumerRecords<byte[], byte[]> polled) {
            boolean mixed = random.nextInt(3) == 0;
            AcknowledgeType all = type();
            Map<Integer, List<long[]>> said = new TreeMap<>();
            for (ConsumerRecord<byte[], byte[]> record : polled) {
                AcknowledgeType type = !explicit ? AcknowledgeType.ACCEPT : mixed ? type() : all;
                said.computeIfAbsent(record.partition(), k -> new ArrayList<>())
                    .add(new long[] {record.offset(), record.offset(), type.id});
                if (explicit) {
                    application.acknowledge(record, type);
                }
            }
            said.forEach((partition, batches) -> cluster.history.add("said", "member", member, "partition", partition,
                "batches", batches));
            int how = random.nextInt(3);
            if (how == 0) {
                try {
                    application.commitSync();
                } catch (KafkaException late) {
                    // The application goes on: it may be told later what came of it.
                }
            } else if (how == 1) {
                application.commitAsync();
            }
            cluster.clock.after(random.nextInt(20), this::mayRun, this::poll);
        }

        private AcknowledgeType type() {
            int drawn = cluster.isDraining() ? 0 : random.nextInt(mayRenew() ? 20 : 16);
            return drawn < 12 ? AcknowledgeType.ACCEPT : drawn < 15 ? AcknowledgeType.RELEASE
                : drawn < 16 ? AcknowledgeType.REJECT : AcknowledgeType.RENEW;
        }

        /** Two faults are masked that renewals show where the partitions have several leaders. */
        private boolean mayRenew() {
            return !cluster.plants.masked || cluster.leader(0).node() == cluster.leader(1).node();
        }

        private void close() {
            run(() -> {
                try {
                    application.close(CLOSE);
                } catch (KafkaException late) {
                    // What it could not say in time is released as its connections end.
                }
                end();
            });
        }

        private void end() {
            if (!ended) {
                client.resetAll();
                ended = true;
                away();
            }
        }

        // Its connections.

        @Override
        public void ask(ClusterNode receiver, PeerClient.Connection connection, AbstractRequest request,
                Consumer<AbstractResponse> answer) {
            receiver.service.answer(request, connection.toString(), answer);
        }

        @Override
        public void lost(PeerClient.Connection connection) {
            ClusterNode broker = cluster.node(connection.to());
            cluster.clock.after(cluster.network.delayMs(connection), cluster.network.gate(Network.CLIENTS, connection.to(),
                broker::mayRun), () -> broker.disconnected(member, connection.toString()));
        }

        @Override
        public AbstractResponse arrives(AbstractResponse response) {
            if (response instanceof ShareFetchResponse fetched) {
                fetched.data().responses().forEach(topic -> topic.partitions().forEach(row -> {
                    if (!row.acquiredRecords().isEmpty()) {
                        cluster.history.add("received", "member", member, "partition", row.partitionIndex(), "ranges",
                            History.rows(row.acquiredRecords(), each -> new long[] {each.firstOffset(), each.lastOffset()}));
                    }
                    if (cluster.isDraining() && cluster.plants.is("received-dropped")) {
                        row.setAcquiredRecords(List.of());
                    }
                }));
            }
            return response;
        }
    }

    private final Cluster cluster;
    private final int number;
    private final Random random;
    private final int maxRecords;
    private final boolean recordLimit;
    private final boolean explicit;
    private final int workMs;
    private int times;
    private boolean leaves;
    private long backAfterMs;
    private Process process;

    KafkaMember(Cluster cluster, int number, Draws stream) {
        this.cluster = cluster;
        this.number = 3 + number;
        random = stream.of(toString());
        maxRecords = 1 + random.nextInt(40);
        recordLimit = random.nextInt(4) == 0;
        explicit = random.nextInt(4) > 0;
        workMs = 20 + random.nextInt(1_500);
    }

    @Override
    public void start() {
        times++;
        leaves = false;
        process = new Process();
        process.begin();
    }

    @Override
    public String member() {
        return process == null ? toString() : process.member;
    }

    @Override
    public void leave(boolean closes, long later) {
        if (process == null || process.ended || leaves) {
            return;
        }
        leaves = true;
        backAfterMs = later;
        if (!closes) {
            process.end();
        }
    }

    private void away() {
        cluster.clock.after(backAfterMs, now -> now, this::start);
    }

    @Override
    public void lost(int node) {
        if (process != null) {
            process.client.reset(node);
        }
    }

    @Override
    public String toString() {
        return "consumer " + number;
    }
}
