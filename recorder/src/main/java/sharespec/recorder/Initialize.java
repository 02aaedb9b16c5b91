package sharespec.recorder;

/** The durable state was read, and the window is made from it. */
final class Initialize extends Operation {
    private static final long NONE_PERSISTED = -1;

    private final Object result;

    Initialize(Partition partition, Object source, long enteredMs, Object result) {
        super(partition, source, enteredMs);
        this.result = result;
    }

    @Override
    String op() {
        return "initialize";
    }

    @Override
    void ends() throws Throwable {
        if (Kafka.isActive(source)) {
            row = partition.begin(source);
        }
    }

    /** The log is not in sight here: what is told of it is what the start offset says of it. */
    @Override
    void fill(Row filled, Object nothing) throws Throwable {
        Persisted persisted = Kafka.persisted(result, partition.leaderEpoch);
        long start = filled.section.start();
        Config config = partition.initialConfig();
        boolean reset = persisted.start() == NONE_PERSISTED;
        boolean earliest = reset && "earliest".equals(config.autoOffsetReset());
        filled.with("config", config).with("timed", true).with("log_known", false)
            .with("log_start_offset", earliest ? start : 0)
            .with("log_end_offset", Math.max(start, persisted.end())).with("persisted", persisted);
        if (reset) {
            filled.with("reset_offset", start);
        }
    }
}
