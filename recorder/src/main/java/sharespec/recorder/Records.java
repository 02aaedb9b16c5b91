package sharespec.recorder;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import sharespec.recorder.Records.Range;

/**
 * The state of each tracked record, neighbours that are alike as one range. In a checkpoint, the
 * member of a pending record is who a failed write gives it back to.
 */
record Records(List<Range> ranges, Names names, boolean inCheckpoint) implements Value {
    static final long NO_DEADLINE = Long.MIN_VALUE;

    record Range(long first, long last, String state, long count, String member, boolean pending, String former,
            long deadline) {
        boolean goesOn(Range next) {
            return last + 1 == next.first && count == next.count && pending == next.pending
                && deadline == next.deadline && state.equals(next.state) && Objects.equals(member, next.member)
                && Objects.equals(former, next.former);
        }

        Range upTo(long end) {
            return new Range(first, end, state, count, member, pending, former, deadline);
        }
    }

    Records shownBy(Names shown, boolean checkpoint) {
        return new Records(ranges, shown, checkpoint);
    }

    @Override
    public void append(Json out) {
        out.open('[');
        for (Range range : ranges) {
            String owner = inCheckpoint && range.pending ? range.former : range.member;
            String member = owner == null || owner.isEmpty() ? null : names.shown(owner);
            out.next().open('[').next().number(range.first).next().number(range.last).next().text(range.state)
                .next().number(range.count).next().text(member)
                .next().flag(range.pending).close(']');
        }
        out.close(']');
    }

    /** Returns [first, last, deadline] of the records that are held. */
    Value deadlines(long shift) {
        Table.Builder out = new Table.Builder(3);
        for (Range range : ranges) {
            if (range.deadline != NO_DEADLINE) {
                out.add(range.first, range.last, range.deadline + shift);
            }
        }
        return out.build();
    }

    /** Returns the ranges of batches that are held, although their locks ended at a time or before. */
    Table overdue(Table batches, long clock) {
        Table.Builder out = new Table.Builder(2);
        int row = 0;  // Batches and ranges both ascend.
        for (Range range : ranges) {
            while (row < batches.rows() && batches.cell(row, 1) < range.first) {
                row++;
            }
            boolean held = !range.pending && range.deadline != NO_DEADLINE && range.deadline <= clock;
            for (int at = row; held && at < batches.rows() && batches.cell(at, 0) <= range.last; at++) {
                out.add(Math.max(range.first, batches.cell(at, 0)), Math.min(range.last, batches.cell(at, 1)));
            }
        }
        return out.build();
    }

    @Override
    public int bytes() {
        return 32 + 72 * ranges.size();
    }

    static final class Builder {
        private final List<Range> ranges = new ArrayList<>();

        void add(Range next) {
            int end = ranges.size() - 1;
            if (end >= 0 && ranges.get(end).goesOn(next)) {
                ranges.set(end, ranges.get(end).upTo(next.last));
            } else {
                ranges.add(next);
            }
        }

        Records build() {
            return new Records(ranges, null, false);
        }
    }
}
