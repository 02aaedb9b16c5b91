package sharespec.recorder;

/** The settings in force for one share-partition. */
record Config(int deliveryCountLimit, int recordLocks, int lockDurationMs, String autoOffsetReset,
        boolean readCommitted, Boolean renew, boolean deadLetterQueue) implements Value {

    Config withReadCommitted(boolean value) {
        return value == readCommitted ? this : new Config(deliveryCountLimit, recordLocks,
            lockDurationMs, autoOffsetReset, value, renew, deadLetterQueue);
    }

    @Override
    public void append(Json out) {
        out.open('{').key("delivery_count_limit").number(deliveryCountLimit)
            .key("partition_max_record_locks").number(recordLocks)
            .key("record_lock_duration_ms").number(lockDurationMs)
            .key("auto_offset_reset").text(autoOffsetReset)
            .key("isolation_level").text(readCommitted ? "read_committed" : "read_uncommitted")
            .key("renew_acknowledge_enable").value(renew)
            .key("dead_letter_queue").flag(deadLetterQueue).close('}');
    }

    @Override
    public int bytes() {
        return 64;
    }
}
