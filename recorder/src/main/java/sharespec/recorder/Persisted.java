package sharespec.recorder;

/** What a leader read of the durable state. It is not told the count. */
record Persisted(long start, Table batches, long stateEpoch, long leaderEpoch) implements Value {
    long end() {
        return batches.isEmpty() ? start : batches.cell(batches.rows() - 1, 1) + 1;
    }

    @Override
    public void append(Json out) {
        out.open('{').key("start_offset").number(start)
            .key("delivery_complete_count").nothing().key("state_batches").value(batches)
            .key("state_epoch").number(stateEpoch).key("leader_epoch").number(leaderEpoch).close('}');
    }

    @Override
    public int bytes() {
        return 64 + batches.bytes();
    }
}
