package kafka.server.share;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.IntSupplier;

/**
 * What clients do in a run, besides its faults: each is an event, with who does it and when. A run can be
 * repeated with some of them only, until faults are over: each is done as soon as it can be from its time on. At each
 * time the random numbers of the whole run come again, so that what is left out alters as little as it can.
 */
final class Script {
    private record Event(String who, long ms, String what) {}

    private final boolean notes;
    private final Script whole;
    private final List<Event> events = new ArrayList<>();
    private final Map<String, Deque<Long>> wanted = new HashMap<>();
    private final Map<String, List<Integer>> numbers = new HashMap<>();
    private final Map<Long, Long> jitters = new HashMap<>();
    private final Map<String, Long> last = new HashMap<>();
    private VirtualTimer clock;
    private boolean over;

    /** All events of a run, which are noted if some of them are to be left out later. */
    Script(boolean notes) {
        this.notes = notes;
        whole = null;
    }

    /** Some events of a run, by their numbers. */
    Script(Script whole, Set<Integer> kept) {
        notes = true;
        this.whole = whole;
        for (int number = 0; number < whole.events.size(); number++) {
            Event event = whole.events.get(number);
            if (kept.contains(number)) {
                wanted.computeIfAbsent(event.who, who -> new ArrayDeque<>()).add(event.ms);
            }
        }
    }

    void begins(VirtualTimer with) {
        clock = with;
        if (notes) {
            clock.before(this::jitter);
        }
    }

    /** Faults are over: from here on members do all that is left to do. */
    void over() {
        over = true;
    }

    /** Tells whether what clients do is noted. */
    boolean notes() {
        return notes;
    }

    /** Tells whether someone does something now. */
    boolean does(String who, String what) {
        if (!notes || over) {
            return true;
        }
        last.put(who, clock.milliseconds());
        if (whole != null) {
            Deque<Long> times = wanted.get(who);
            if (times == null || times.isEmpty() || times.peek() > clock.milliseconds()) {
                return false;
            }
            last.put(who, times.remove());
        }
        events.add(new Event(who, clock.milliseconds(), what));
        return true;
    }

    /** Returns when someone did in the whole run what it did last. */
    long lastMs(String who) {
        return over ? clock.milliseconds() : last.getOrDefault(who, 0L);
    }

    /** Returns how long someone who does nothing now waits to do something, at most so long. */
    long waitMs(String who, long mostMs) {
        Deque<Long> times = wanted.getOrDefault(who, new ArrayDeque<>());
        return times.isEmpty() ? mostMs : Math.min(mostMs, Math.max(1, times.peek() - clock.milliseconds()));
    }

    /** Returns a random number for a user: the one that the whole run had at this time, or at another, if it had one. */
    int number(String user, long ms, IntSupplier draw) {
        if (!notes) {
            return draw.getAsInt();
        }
        String place = user + "@" + (ms < 0 ? clock.milliseconds() : ms);
        List<Integer> mine = numbers.computeIfAbsent(place, key -> new ArrayList<>());
        List<Integer> had = whole == null ? List.of() : whole.numbers.getOrDefault(place, List.of());
        mine.add(whole == null ? draw.getAsInt() : mine.size() < had.size() ? had.get(mine.size())
            : new Random(31L * place.hashCode() + mine.size()).nextInt());
        return mine.get(mine.size() - 1);
    }

    /** At each time Kafka's back-off, too, draws what it drew in the whole run. */
    private void jitter() {
        jitters.computeIfAbsent(clock.milliseconds(), now -> {
            if (whole == null) {
                return Simulation.jitter();
            }
            long same = whole.jitters.getOrDefault(now, now);
            Simulation.jitter(same);
            return same;
        });
    }

    /** How many events the whole run has. */
    int size() {
        return (whole == null ? this : whole).events.size();
    }

    /** The events that were done, as their times and texts. */
    ArrayNode done() {
        ArrayNode rows = new ObjectMapper().createArrayNode();
        events.forEach(event -> rows.addArray().add(event.ms).add(event.what));
        return rows;
    }
}
