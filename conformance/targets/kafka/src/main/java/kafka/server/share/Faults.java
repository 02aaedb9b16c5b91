package kafka.server.share;

import java.util.Random;
import java.util.Set;

/** The faults of a run, drawn before it, so that each has a number and can be left out. */
final class Faults {
    private final Random random;
    private final Random deletes;
    private int drawn;

    Faults(long seed) {
        random = new Random(seed * 1_000_003 + 5);
        random.nextLong();
        deletes = new Random(seed * 1_000_003 + 7);
        deletes.nextLong();
    }

    int drawn() {
        return drawn;
    }

    void draw(Cluster cluster, long fromMs, long forMs, Set<Integer> without) {
        drawn = 1 + random.nextInt(12);
        for (int number = 0; number < drawn; number++) {
            long delay = (long) (random.nextDouble() * forMs);
            int kind = random.nextInt(9);
            int first = random.nextInt(3);
            int second = (first + 1 + random.nextInt(2)) % 3;
            int partition = random.nextInt(2);
            long length = 50 + random.nextInt(random.nextBoolean() ? 500 : 9_000);
            if (!without.contains(number)) {
                int place = number;
                cluster.clock.after(delay, now -> now, () ->
                    happen(cluster, place, kind, first, second, partition, length));
            }
        }
        if (deletes.nextInt(3) == 0 && !cluster.plants.masked) {
            int until = drawn + 1 + deletes.nextInt(3);
            for (; drawn < until; drawn++) {
                long delay = (long) (deletes.nextDouble() * forMs);
                int partition = deletes.nextInt(2);
                double part = deletes.nextInt(4) == 0 ? 1 : deletes.nextDouble();
                if (!without.contains(drawn)) {
                    int place = drawn;
                    cluster.clock.after(delay, now -> now, () -> delete(cluster, place, partition, part));
                }
            }
        }
        moveLetters(cluster, forMs, without);
    }

    /** The leader of the dead letters moves, where there are some. */
    private void moveLetters(Cluster cluster, long forMs, Set<Integer> without) {
        int until = drawn + (cluster.settings.errorsDLQTopicName(cluster.group).isEmpty() ? 0 : deletes.nextInt(4));
        for (; drawn < until; drawn++) {
            long delay = (long) (deletes.nextDouble() * forMs);
            int to = deletes.nextInt(cluster.size());
            if (!without.contains(drawn)) {
                int place = drawn;
                cluster.clock.after(delay, now -> now, () -> {
                    cluster.deadLetters.move(up(cluster, to));
                    cluster.history.add("fault", "number", place, "text", "dead letters move to node " + to,
                        "paused_ms", 0);
                });
            }
        }
    }

    /** Deletes a part of what a log has. */
    private static void delete(Cluster cluster, int number, int partition, double part) {
        Log log = cluster.log(partition);
        log.deleteTo(log.start() + (long) (part * (log.end() - log.start())));
        cluster.history.add("fault", "number", number, "text", "records of " + partition + " before " + log.start()
            + " are deleted", "paused_ms", 0);
        cluster.history.add("deleted", "partition", partition, "log_start_offset", log.start());
    }

    private static void happen(Cluster cluster, int number, int kind, int first, int second, int partition,
            long length) {
        long now = cluster.clock.milliseconds();
        ClusterNode.Leader leader = cluster.leader(partition);
        String text;
        switch (kind) {
            case 0 -> {
                cluster.moveLeader(partition, up(cluster, first));
                text = "leader of " + partition + " moves to node " + cluster.leader(partition).node();
            }
            case 1, 2 -> {
                int home = leader.node();
                int away = up(cluster, home == first ? second : first);
                cluster.node(home).reset(cluster.coordinatorOf(partition));
                if (kind == 2) {
                    cluster.network.block(home, cluster.coordinatorOf(partition), now + length);
                }
                cluster.moveLeader(partition, away);
                cluster.clock.after(length, at -> at, () -> cluster.moveLeader(partition, up(cluster, home)));
                text = "leader of " + partition + " moves from node " + home + " to " + away + " and back after "
                    + length + " ms, the connection to its coordinator " + (kind == 2 ? "is blocked" : "is reset");
            }
            case 3 -> {
                cluster.moveCoordinator(partition, up(cluster, first));
                text = "state partition " + partition + " moves to node " + first;
            }
            case 4 -> {
                cluster.node(first).reset(second);
                text = "connection of node " + first + " to " + second + " is reset";
            }
            case 5 -> {
                cluster.network.block(first, second, now + length);
                text = "nodes " + first + " and " + second + " are cut off for " + length + " ms";
            }
            case 6 -> {
                cluster.node(first).pause(now + length);
                text = "node " + first + " is paused for " + length + " ms";
            }
            case 7 -> {
                cluster.crash(first);
                cluster.clock.after(1_000 + length, at -> at, () -> cluster.restart(first));
                text = "node " + first + " is killed, and starts again after " + (1_000 + length) + " ms";
            }
            default -> {
                cluster.network.slow(now + length);
                text = "the network is slow for " + length + " ms";
            }
        }
        cluster.history.add("fault", "number", number, "text", text, "paused_ms", kind == 6 ? length : 0);
    }

    private static int up(Cluster cluster, int wanted) {
        for (int tried = 0; tried < cluster.size(); tried++) {
            int id = (wanted + tried) % cluster.size();
            if (cluster.node(id).isUp()) {
                return id;
            }
        }
        return wanted;
    }
}
