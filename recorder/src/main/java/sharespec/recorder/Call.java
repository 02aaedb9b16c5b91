package sharespec.recorder;

/** A call that changes nothing itself, but starts what will: its continuation is the operation. */
final class Call extends Operation {
    /** The records that go to the dead-letter queue; none for an initialization. */
    final Table deadLetters;

    Call(Partition partition, Object source, long enteredMs, Table deadLetters) {
        super(partition, source, enteredMs);
        this.deadLetters = deadLetters;
    }

    @Override
    String op() {
        return "call";
    }

    @Override
    void ends() {
        // Its stretches under the lock are no operations.
    }

    @Override
    void fill(Row filled, Object result) {
        throw new IllegalStateException("a call has no row");
    }

    @Override
    void finish(Recorder recorder, Object result, Throwable thrown) {
        // It has no row.
    }
}
