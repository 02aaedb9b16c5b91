package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;
import org.apache.kafka.coordinator.group.ShareGroupAutoOffsetResetStrategy;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider;
import org.apache.kafka.server.storage.log.FetchIsolation;

/** A share group's configuration, which can be altered while records are held. */
final class Settings extends ShareGroupConfigProvider {
    int deliveryLimit;
    int maxLocks;
    int lockMs;
    private boolean renew;
    String reset;
    private boolean deadLetterQueue;
    FetchIsolation isolation;
    /** By how much a leader's limit and window differ from what is set: by 0, if nothing is planted. */
    int moreAttempts;
    int moreLocks;

    Settings(JsonNode config) {
        super(null);
        read(config);
    }

    void read(JsonNode config) {
        deliveryLimit = config.get("delivery_count_limit").asInt();
        maxLocks = config.get("partition_max_record_locks").asInt();
        lockMs = config.get("record_lock_duration_ms").asInt();
        renew = config.path("renew_acknowledge_enable").asBoolean(true);
        deadLetterQueue = config.path("dead_letter_queue").asBoolean(false);
        isolation = config.path("isolation_level").asText().equals("read_committed")
            ? FetchIsolation.TXN_COMMITTED : FetchIsolation.HIGH_WATERMARK;
        reset = config.get("auto_offset_reset").asText();
    }

    /** Returns a level of isolation as a group's configuration names it. */
    static String nameOf(FetchIsolation isolation) {
        return isolation == FetchIsolation.TXN_COMMITTED ? "read_committed" : "read_uncommitted";
    }

    @Override
    public int recordLockDurationMsOrDefault(String group, int otherwise) {
        return lockMs;
    }

    @Override
    public int deliveryCountLimitOrDefault(String group, int otherwise) {
        return deliveryLimit + moreAttempts;
    }

    @Override
    public int partitionMaxRecordLocksOrDefault(String group, int otherwise) {
        return maxLocks + moreLocks;
    }

    @Override
    public boolean isRenewAcknowledgeEnabled(String group) {
        return renew;
    }

    @Override
    public ShareGroupAutoOffsetResetStrategy autoOffsetReset(String group) {
        return ShareGroupAutoOffsetResetStrategy.fromString(
            reset.equals("by_duration") ? "by_duration:PT1H" : reset);
    }

    @Override
    public Optional<String> errorsDLQTopicName(String group) {
        return deadLetterQueue ? Optional.of("dlq") : Optional.empty();
    }
}
