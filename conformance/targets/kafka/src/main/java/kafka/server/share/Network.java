package kafka.server.share;

import java.util.HashMap;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/**
 * The network between the nodes and to the clients: messages of a connection keep their order, take a
 * time that is drawn, and are lost only with their connection.
 */
final class Network {
    /** Clients are one place: each has connections of its own. */
    static final int CLIENTS = -1;

    private final VirtualTimer clock;
    private final Draws stream;
    private final Map<Long, Long> blockedUntilMs = new HashMap<>();
    private final Map<Object, Long> lastArrivalMs = new HashMap<>();
    private long slowUntilMs;

    Network(VirtualTimer clock, Draws stream) {
        this.clock = clock;
        this.stream = stream;
    }

    private static long link(int from, int to) {
        return ((long) Math.min(from, to) << 32) + Math.max(from, to);
    }

    /** Nothing passes between two places until then. */
    void block(int from, int to, long untilMs) {
        blockedUntilMs.merge(link(from, to), untilMs, Math::max);
    }

    boolean isBlocked(int from, int to) {
        return blockedUntilMs.getOrDefault(link(from, to), 0L) > clock.milliseconds();
    }

    /** Returns the gate of a message: it waits while its link is blocked, and then for its receiver. */
    LongUnaryOperator gate(int from, int to, LongUnaryOperator receiver) {
        return now -> isBlocked(from, to) ? blockedUntilMs.get(link(from, to)) : receiver.applyAsLong(now);
    }

    /** Messages are slow until then, each by a time of its own. */
    void slow(long untilMs) {
        slowUntilMs = Math.max(slowUntilMs, untilMs);
    }

    /** Faults of links end. */
    void heal() {
        blockedUntilMs.clear();
        slowUntilMs = 0;
    }

    /** Returns how long a message of a connection takes: it arrives after those that were sent before. */
    long delayMs(Object connection) {
        long now = clock.milliseconds();
        Draws random = stream.of(connection);
        long delay = 1 + random.nextInt(4);
        if (now < slowUntilMs) {
            delay += random.nextInt(1_500);
        } else if (random.nextInt(20) == 0) {
            delay += random.nextInt(100);
        }
        long arrival = Math.max(now + delay, lastArrivalMs.getOrDefault(connection, 0L));
        lastArrivalMs.put(connection, arrival);
        return arrival - now;
    }
}
