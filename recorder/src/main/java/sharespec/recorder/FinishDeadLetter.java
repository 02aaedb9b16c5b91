package sharespec.recorder;

/** Records have been copied to the dead-letter queue, or could not be: they are archived. */
final class FinishDeadLetter extends Operation {
    private final long first;
    private final long last;

    FinishDeadLetter(Partition partition, Object source, long enteredMs, long first, long last) {
        super(partition, source, enteredMs);
        this.first = first;
        this.last = last;
    }

    @Override
    String op() {
        return "finish_dead_letter";
    }

    @Override
    boolean mayWrite() {
        return true;
    }

    @Override
    void fill(Row filled, Object result) {
        filled.with("ranges", new Table.Builder(2).add(first, last).build());
    }
}
