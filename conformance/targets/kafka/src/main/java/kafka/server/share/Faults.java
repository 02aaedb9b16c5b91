package kafka.server.share;

import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntFunction;

/** The faults of a run, drawn before it, so that each has a number and can be left out. */
final class Faults {
    private static final List<String> KINDS = List.of("leader moves", "leader moves and returns after a reset",
        "leader moves and returns while cut off", "coordinator moves", "connection is reset", "nodes are cut off",
        "node is paused", "node is killed", "network is slow");
    /** Those that last as long as was drawn. */
    private static final Set<Integer> LASTING = Set.of(1, 2, 5, 6, 8);
    private static final List<String> ALTERED = List.of("record lock duration is altered",
        "delivery count limit is altered", "partition max record locks is altered", "isolation level is altered");

    private final Random random;
    private final Random deletes;
    private final Random changes;
    private final Random more;
    private final Random administrator;
    private int drawn;

    Faults(long seed) {
        random = new Random(seed * 1_000_003 + 5);
        random.nextLong();
        deletes = new Random(seed * 1_000_003 + 7);
        deletes.nextLong();
        changes = new Random(seed * 1_000_003 + 8);
        changes.nextLong();
        more = new Random(seed * 1_000_003 + 30);
        more.nextLong();
        administrator = new Random(seed * 1_000_003 + 31);
        administrator.nextLong();
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
        draw(cluster, deletes, deletes.nextInt(3) == 0 ? 1 + deletes.nextInt(3) : 0, forMs, without, number -> {
            int partition = deletes.nextInt(2);
            double part = deletes.nextInt(4) == 0 ? 1 : deletes.nextDouble();
            return () -> delete(cluster, number, partition, part);
        });
        draw(cluster, deletes, cluster.letterFaults ? deletes.nextInt(4) : 0, forMs, without, number -> {
            int to = deletes.nextInt(cluster.size());
            return () -> {
                cluster.deadLetters.move(up(cluster, to));
                tell(cluster, number, "dead letters move", "dead letters move to node " + to, 0);
            };
        });
        draw(cluster, changes, changes.nextBoolean() ? 1 + changes.nextInt(6) : 0, forMs, without, number -> {
            Member member = cluster.members().get(changes.nextInt(cluster.members().size()));
            boolean closes = changes.nextBoolean();
            long length = 50 + changes.nextInt(changes.nextBoolean() ? 500 : 6_000);
            return () -> {
                String how = closes ? " closes" : " is killed";
                tell(cluster, number, "member" + how, member + how + ", and joins again after " + length + " ms", length);
                member.leave(closes, length);
            };
        });
        draw(cluster, changes, changes.nextBoolean() ? 1 + changes.nextInt(6) : 0, forMs, without, number -> {
            int which = changes.nextInt(4);
            double part = changes.nextDouble();
            return () -> tell(cluster, number, ALTERED.get(which), ALTERED.get(which) + " to "
                + cluster.alter(which, part), 0);
        });
        draw(cluster, more, more.nextInt(4) == 0 ? 1 + more.nextInt(2) : 0, forMs, without, number -> {
            boolean closes = more.nextBoolean();
            long length = 1 + more.nextInt(300);
            return () -> {
                String how = closes ? "all members close" : "all members are killed";
                tell(cluster, number, how, how + ", and join again after " + length + " ms", length);
                cluster.members().forEach(member -> member.leave(closes, length));
            };
        });
        draw(cluster, more, more.nextInt(3) == 0 ? 1 + more.nextInt(3) : 0, forMs, without, number -> {
            int partition = more.nextInt(2);
            Random which = new Random(more.nextLong());
            return () -> {
                List<long[]> taken = cluster.log(partition).compact(which);
                tell(cluster, number, "log is compacted", "the log of " + partition + " is compacted", 0);
                cluster.history.add("compacted", "partition", partition, "ranges", taken);
            };
        });
        if (cluster.groups != null) {
            draw(cluster, administrator, administrator.nextInt(4), forMs, without, number -> {
                int to = administrator.nextInt(cluster.size());
                return () -> {
                    cluster.groups.move(up(cluster, to));
                    tell(cluster, number, "group coordinator moves", "group coordinator moves to node " + cluster.groups.log.leader(), 0);
                };
            });
            draw(cluster, administrator, 1 + administrator.nextInt(3), forMs, without, number -> {
                boolean closes = administrator.nextInt(3) > 0;
                long length = 500 + administrator.nextInt(closes ? 3_000 : 8_000);
                int which = administrator.nextInt(4);
                double[] parts = {administrator.nextDouble(), administrator.nextDouble()};
                return () -> administer(cluster, number, closes, length, which, parts);
            });
        }
    }

    /** All members leave for a while; meanwhile the group is deleted, or offsets of one or both partitions are altered or deleted. */
    private static void administer(Cluster cluster, int number, boolean closes, long length, int which, double[] parts) {
        Map<Integer, Long> offsets = new TreeMap<>();
        for (int partition = 0; which < 2 && partition < parts.length; partition++) {
            if (partition > 0 || parts[1] < 0.7) {
                offsets.put(partition, (long) (parts[partition] * cluster.log(partition).end()));
            }
        }
        Groups.Wish wish = new Groups.Wish(which == 2, offsets);
        tell(cluster, number, which < 2 ? "offsets are altered" : which == 2 ? "group is deleted" : "offsets are deleted",
            "all members " + (closes ? "close" : "are killed") + " for " + length + " ms, and " + wish, length);
        cluster.members().forEach(member -> member.leave(closes, length));
        cluster.groups.administer(wish, length + 1_000);
    }

    /** Draws some changes of a kind: when each happens, and then what {@code draw} makes of its number. */
    private void draw(Cluster cluster, Random from, int count, long forMs, Set<Integer> without,
            IntFunction<Runnable> draw) {
        for (int until = drawn + count; drawn < until; drawn++) {
            long delay = (long) (from.nextDouble() * forMs);
            Runnable change = draw.apply(drawn);
            if (!without.contains(drawn)) {
                cluster.clock.after(delay, now -> now, change);
            }
        }
    }

    private static void tell(Cluster cluster, int number, String kind, String text, long forMs) {
        cluster.history.add("fault", "number", number, "kind", kind, "text", text, "paused_ms",
            kind.equals("node is paused") ? forMs : 0, "for_ms", forMs);
    }

    /** Deletes a part of what a log has. */
    private static void delete(Cluster cluster, int number, int partition, double part) {
        Log log = cluster.log(partition);
        log.deleteTo(log.start() + (long) (part * (log.end() - log.start())));
        tell(cluster, number, "records are deleted", "records of " + partition + " before " + log.start() + " are deleted", 0);
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
        tell(cluster, number, KINDS.get(kind), text, LASTING.contains(kind) ? length : kind == 7 ? 1_000 + length : 0);
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
