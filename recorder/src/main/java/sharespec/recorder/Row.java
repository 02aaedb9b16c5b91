package sharespec.recorder;

import java.util.ArrayList;
import java.util.List;

/** One row of the trace: filled by the thread that did what it tells, written by the writer. */
final class Row {
    static final int MAX_EXCEPTION = 300;
    private static final int BYTES = 240;

    /** An operation that an earlier one of the same share-partition answers. */
    record Answer(Row row, String status) { }

    final Partition partition;
    final Section section;
    /** Null where the number was taken for a change that was undone, and no row is written. */
    final String op;
    /** A checkpoint after a loss: what comes between the last row before the loss and it is lost. */
    final boolean resumes;
    private final List<Object> arguments = new ArrayList<>(16);
    private final List<Object> result = new ArrayList<>(4);
    private String status = "NONE";
    private String exception;
    private Write write;
    private Answer answered;
    private Records records;

    Row(Partition partition, Section section, String op) {
        this(partition, section, op, false);
    }

    Row(Partition partition, Section section, String op, boolean resumes) {
        this.partition = partition;
        this.section = section;
        this.op = op;
        this.resumes = resumes;
    }

    boolean isCheckpoint() {
        return "checkpoint".equals(op);
    }

    Row with(String name, Object value) {
        arguments.add(name);
        arguments.add(value);
        return this;
    }

    Row answers(String name, Object value) {
        result.add(name);
        result.add(value);
        return this;
    }

    Row status(String name) {
        status = name;
        return this;
    }

    /** Returns the error that an exception is to a client. */
    static String error(Throwable thrown) {
        try {
            return Kafka.error(thrown);
        } catch (Throwable unknown) {
            return "UNKNOWN_SERVER_ERROR";
        }
    }

    /** The operation itself threw; what a write ended with stays its status. */
    Row threw(Throwable thrown) {
        if (!"complete_write".equals(op)) {
            status = error(thrown);
        }
        String text = String.valueOf(thrown);
        exception = text.length() > MAX_EXCEPTION ? text.substring(0, MAX_EXCEPTION) : text;
        return this;
    }

    /** Says that the operation wrote and waits for the answer of the write. */
    Row writes(Write made) {
        write = made;
        return this;
    }

    boolean hasWrite() {
        return write != null;
    }

    Write write() {
        return write;
    }

    /** Returns the ranges that its write names. */
    Table writtenRanges() {
        return write == null ? Table.EMPTY : write.batches.columns(2);
    }

    Row answering(Row row, String name) {
        answered = row == null ? null : new Answer(row, name);
        return this;
    }

    Row records(Records all) {
        records = all;
        return this;
    }

    int bytes() {
        int sum = BYTES + (write == null ? 0 : write.bytes()) + (records == null ? 0 : records.bytes());
        for (Object value : arguments) {
            sum += value instanceof Value own ? own.bytes() : 16;
        }
        for (Object value : result) {
            sum += value instanceof Value own ? own.bytes() : 16;
        }
        return sum;
    }

    /** The number of the section whose state its write tells, which may come after its own. */
    long refersTo() {
        return write == null || write.madeAfter == null ? section.number() : write.madeAfter.number();
    }

    /** Builds its line of the trace; {@code madeAfter} is the place of what its write tells. */
    void append(Json out, long madeAfter, Names names) {
        out.clear().open('{').key("partition").text(partition.name).key("leader_epoch").number(partition.leaderEpoch)
            .key("instance").number(partition.instance()).key("seq").number(section.seq())
            .key("time_ms").number(section.timeMs()).key("op").text(op);
        for (int at = 0; at < arguments.size(); at += 2) {
            out.key((String) arguments.get(at)).value(arguments.get(at + 1));
        }
        result(out.key("result"));
        writes(out.key("writes").open('['), madeAfter);
        completed(out.key("completed").open('['));
        after(out.key("after"), names);
        out.close('}');
    }

    private void result(Json out) {
        out.open('{').key("status").text(status);
        if (exception != null) {
            out.key("exception").text(exception);
        }
        for (int at = 0; at < result.size(); at += 2) {
            out.key((String) result.get(at)).value(result.get(at + 1));
        }
        out.close('}');
    }

    private void writes(Json out, long madeAfter) {
        if (write != null) {
            write.appendNumbers(out.next().open('{'));
            out.key("status").text("PENDING").key("made_after").number(madeAfter).close('}');
        }
        out.close(']');
    }

    private void completed(Json out) {
        long seq = answered == null ? Section.NOT_WRITTEN : answered.row.section.seq();
        if (seq != Section.NOT_WRITTEN) {
            out.next().open('{').key("seq").number(seq).key("status").text(answered.status).close('}');
        }
        out.close(']');
    }

    private void after(Json out, Names names) {
        out.open('{').key("start_offset").number(section.start()).key("end_offset").number(section.end())
            .key("delivery_complete_count").number(section.completed());
        if (records != null) {
            out.key("records").value(records.shownBy(names, isCheckpoint()));
        }
        out.close('}');
    }
}
