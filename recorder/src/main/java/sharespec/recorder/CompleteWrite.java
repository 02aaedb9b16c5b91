package sharespec.recorder;

/** What follows the answer to a write. */
final class CompleteWrite extends Operation {
    private final Write write;
    private final Throwable failure;
    private Table held = Table.EMPTY;

    CompleteWrite(Partition partition, Object source, long enteredMs, Write write, Throwable failure) {
        super(partition, source, enteredMs);
        this.write = write;
        this.failure = failure;
    }

    @Override
    String op() {
        return "complete_write";
    }

    @Override
    void ends() throws Throwable {
        partition.answered(write);
        take();
        if (failure != null && row != null) {
            held = partition.overdue(source, write, row.section);
        }
    }

    @Override
    void fill(Row filled, Object result) throws Throwable {
        filled.with("id", write.id);
        if (failure != null) {
            filled.status(Row.error(failure));
        }
        if (!held.isEmpty()) {
            filled.with("ranges", held);
        }
        if (write.row != null && write.answer != null) {
            Throwable refused = write.answer.isDone() ? Acknowledge.refusal(write.answer) : failure;
            filled.answering(write.row, refused == null ? "NONE" : Row.error(refused));
        }
    }
}
