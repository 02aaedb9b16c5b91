package sharespec.recorder;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The writes that have no answer at a checkpoint. */
record Outstanding(List<Write> writes) implements Value {
    Outstanding(Collection<Write> writes) {
        this(List.copyOf(writes));
    }

    /** Whether each record that is pending is in one of them; else a write is under way that nobody saw. */
    boolean cover(Records records) {
        TreeMap<Long, Long> ends = new TreeMap<>();
        for (Write write : writes) {
            for (int at = 0; at < write.batches.rows(); at++) {
                ends.merge(write.batches.cell(at, 0), write.batches.cell(at, 1), Math::max);
            }
        }
        TreeMap<Long, Long> joined = new TreeMap<>();
        long first = -1;
        long end = -2;
        for (Map.Entry<Long, Long> next : ends.entrySet()) {
            first = next.getKey() > end + 1 ? next.getKey() : first;
            end = Math.max(end, next.getValue());
            joined.put(first, end);
        }
        for (Records.Range range : records.ranges()) {
            Map.Entry<Long, Long> around = joined.floorEntry(range.first());
            if (range.pending() && (around == null || around.getValue() < range.last())) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void append(Json out) {
        out.open('[');
        for (Write write : writes) {
            out.next().value(write);
        }
        out.close(']');
    }

    @Override
    public int bytes() {
        return 32 + writes.stream().mapToInt(Write::bytes).sum();
    }
}
