package sharespec.recorder;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;

/**
 * Every field and method of Kafka that the recorder reads, one row each.
 *
 * <p>The recorder is compiled without Kafka, as classes move between its versions: it finds them
 * here by name. One that may be missing says what it is missing in.
 */
enum Member {
    GROUP(Owner.PARTITION, "groupId", Object.class),
    TOPIC_PARTITION(Owner.PARTITION, "topicIdPartition", Object.class),
    LEADER_EPOCH(Owner.PARTITION, "leaderEpoch", long.class),
    STATE_EPOCH(Owner.PARTITION, "stateEpoch", long.class),
    STATUS(Owner.PARTITION, "partitionState", Object.class),
    LOCK(Owner.PARTITION, "lock", Object.class),
    CACHE(Owner.PARTITION, "cachedState", Object.class),
    START(Owner.PARTITION, "startOffset", long.class),
    END(Owner.PARTITION, "endOffset", long.class),
    COMPLETED(Owner.PARTITION, "deliveryCompleteCount", Object.class),
    LOCK_DURATION(Owner.PARTITION, "defaultRecordLockDurationMs", long.class),
    DELIVERY_LIMIT_FIELD(Owner.PARTITION, "maxDeliveryCount", long.class, "4.3"),
    RECORD_LOCKS_FIELD(Owner.PARTITION, "maxInFlightRecords", long.class, "4.3"),
    DELIVERY_LIMIT(Owner.PARTITION, "maxDeliveryCount", 0, long.class, "4.2"),
    RECORD_LOCKS(Owner.PARTITION, "maxInFlightRecords", 0, long.class, "4.2"),
    DEAD_LETTERS(Owner.PARTITION, "isDLQEnabledForGroup", 0, boolean.class, "4.3"),
    CONFIG_PROVIDER(Owner.PARTITION, "configProvider", Object.class, "4.2"),
    GROUP_CONFIGS(Owner.PARTITION, "groupConfigManager", Object.class, "4.4"),

    PROVIDED_DURATION(Owner.CONFIG_PROVIDER, "recordLockDurationMsOrDefault", 2, long.class, "4.2"),
    PROVIDED_RENEW(Owner.CONFIG_PROVIDER, "isRenewAcknowledgeEnabled", 1, boolean.class, "4.2"),
    PROVIDED_RESET(Owner.CONFIG_PROVIDER, "autoOffsetReset", 1, Object.class, "4.3"),
    GROUP_CONFIG(Owner.GROUP_CONFIGS, "groupConfig", 1, Object.class),
    GROUP_DURATION(Owner.GROUP_CONFIG, "shareRecordLockDurationMs", 0, Object.class, "4.3"),
    GROUP_RESET(Owner.GROUP_CONFIG, "shareAutoOffsetReset", 0, Object.class, "4.4"),
    RESET_TYPE(Owner.RESET, "type", 0, Object.class),

    TOPIC(Owner.TOPIC_PARTITION, "topic", 0, Object.class),
    PARTITION(Owner.TOPIC_PARTITION, "partition", 0, long.class),

    BATCH_FIRST(Owner.BATCH, "firstOffset", 0, long.class),
    BATCH_LAST(Owner.BATCH, "lastOffset", 0, long.class),
    BATCH_STATE(Owner.BATCH, "batchState", Object.class),
    BATCH_OFFSETS(Owner.BATCH, "offsetState", 0, Object.class),
    STATE(Owner.STATE, "state", 0, Object.class),
    STATE_COUNT(Owner.STATE, "deliveryCount", 0, long.class),
    STATE_MEMBER(Owner.STATE, "memberId", 0, Object.class),
    STATE_PENDING(Owner.STATE, "hasOngoingStateTransition", 0, boolean.class),
    STATE_TASK(Owner.STATE, "acquisitionLockTimeoutTask", 0, Object.class),
    STATE_BEFORE(Owner.STATE, "rollbackState", Object.class),
    STATE_STAYS(Owner.STATE, "isTerminalState", boolean.class),
    BEFORE(Owner.STATE_BEFORE, "state", Object.class),
    TASK_DUE(Owner.TASK, "expirationMs", 0, long.class),

    ACQUIRED(Owner.ACQUIRED, "acquiredRecords", 0, Object.class),
    ACQUIRED_FIRST(Owner.ACQUIRED_RANGE, "firstOffset", 0, long.class),
    ACQUIRED_LAST(Owner.ACQUIRED_RANGE, "lastOffset", 0, long.class),
    ACQUIRED_COUNT(Owner.ACQUIRED_RANGE, "deliveryCount", 0, long.class),
    READ_RECORDS(Owner.READ, "records", Object.class),
    READ_HIGH_WATERMARK(Owner.READ, "highWatermark", long.class),
    READ_LOG_START(Owner.READ, "logStartOffset", long.class),
    READ_LAST_STABLE(Owner.READ, "lastStableOffset", Object.class),
    LOG_BATCHES(Owner.RECORDS, "batches", 0, Object.class),
    LOG_FIRST(Owner.LOG_BATCH, "baseOffset", 0, long.class),
    LOG_LAST(Owner.LOG_BATCH, "lastOffset", 0, long.class),

    ACK_FIRST(Owner.ACKNOWLEDGEMENT, "firstOffset", 0, long.class),
    ACK_LAST(Owner.ACKNOWLEDGEMENT, "lastOffset", 0, long.class),
    ACK_TYPES(Owner.ACKNOWLEDGEMENT, "acknowledgeTypes", 0, Object.class),

    WRITTEN(Owner.WRITE, "groupTopicPartitionData", 0, Object.class),
    WRITTEN_TOPICS(Owner.WRITE_DATA, "topicsData", 0, Object.class),
    TOPIC_PARTITIONS(Owner.TOPIC_DATA, "partitions", 0, Object.class),
    WRITTEN_START(Owner.WRITTEN, "startOffset", 0, long.class),
    WRITTEN_COUNT(Owner.WRITTEN, "deliveryCompleteCount", 0, long.class),
    WRITTEN_BATCHES(Owner.WRITTEN, "stateBatches", 0, Object.class),
    DURABLE_TOPICS(Owner.DURABLE, "topicsData", 0, Object.class),
    DURABLE_START(Owner.DURABLE_PARTITION, "startOffset", 0, long.class),
    DURABLE_STATE_EPOCH(Owner.DURABLE_PARTITION, "stateEpoch", 0, long.class),
    DURABLE_BATCHES(Owner.DURABLE_PARTITION, "stateBatches", 0, Object.class),
    DURABLE_FIRST(Owner.STATE_BATCH, "firstOffset", 0, long.class),
    DURABLE_LAST(Owner.STATE_BATCH, "lastOffset", 0, long.class),
    DURABLE_STATE(Owner.STATE_BATCH, "deliveryState", 0, long.class),
    DURABLE_COUNT(Owner.STATE_BATCH, "deliveryCount", 0, long.class),

    ERROR_OF(Owner.ERRORS, "forException", 1, Object.class);

    /** Classes by the names that they have or had. */
    private static final class Owner {
        static final String[] PARTITION = {"kafka.server.share.SharePartition"};
        static final String[] CONFIG_PROVIDER =
            {"org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider"};
        static final String[] GROUP_CONFIGS = {"org.apache.kafka.coordinator.group.GroupConfigManager"};
        static final String[] GROUP_CONFIG = {"org.apache.kafka.coordinator.group.GroupConfig"};
        static final String[] RESET = {"org.apache.kafka.coordinator.group.ShareGroupAutoOffsetResetStrategy"};
        static final String[] TOPIC_PARTITION = {"org.apache.kafka.common.TopicIdPartition"};
        static final String[] BATCH = {"org.apache.kafka.server.share.fetch.InFlightBatch"};
        static final String[] STATE = {"org.apache.kafka.server.share.fetch.InFlightState"};
        static final String[] STATE_BEFORE = {"org.apache.kafka.server.share.fetch.InFlightState$RollbackState"};
        static final String[] TASK = {"org.apache.kafka.server.share.fetch.AcquisitionLockTimerTask"};
        static final String[] ACQUIRED = {"org.apache.kafka.server.share.fetch.ShareAcquiredRecords"};
        static final String[] ACQUIRED_RANGE =
            {"org.apache.kafka.common.message.ShareFetchResponseData$AcquiredRecords"};
        static final String[] READ = {"org.apache.kafka.server.storage.log.FetchPartitionData"};
        static final String[] RECORDS = {"org.apache.kafka.common.record.internal.Records",
            "org.apache.kafka.common.record.Records"};
        static final String[] LOG_BATCH = {"org.apache.kafka.common.record.internal.RecordBatch",
            "org.apache.kafka.common.record.RecordBatch"};
        static final String[] ACKNOWLEDGEMENT =
            {"org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch"};
        static final String[] WRITE =
            {"org.apache.kafka.server.share.persister.WriteShareGroupStateParameters"};
        static final String[] WRITE_DATA = {"org.apache.kafka.server.share.persister.GroupTopicPartitionData"};
        static final String[] TOPIC_DATA = {"org.apache.kafka.server.share.persister.TopicData"};
        static final String[] WRITTEN = {"org.apache.kafka.server.share.persister.PartitionStateBatchData"};
        static final String[] DURABLE = {"org.apache.kafka.server.share.persister.ReadShareGroupStateResult"};
        static final String[] DURABLE_PARTITION = {"org.apache.kafka.server.share.persister.PartitionAllData"};
        static final String[] STATE_BATCH = {"org.apache.kafka.server.share.persister.PersisterStateBatch"};
        static final String[] ERRORS = {"org.apache.kafka.common.protocol.Errors"};
    }

    private static final int FIELD = -1;

    private final List<String> owners;
    private final String name;
    private final int parameters;
    private final Class<?> result;
    private final String missingIn;

    Member(String[] owners, String name, Class<?> result) {
        this(owners, name, FIELD, result, null);
    }

    Member(String[] owners, String name, Class<?> result, String missingIn) {
        this(owners, name, FIELD, result, missingIn);
    }

    Member(String[] owners, String name, int parameters, Class<?> result) {
        this(owners, name, parameters, result, null);
    }

    Member(String[] owners, String name, int parameters, Class<?> result, String missingIn) {
        this.owners = List.of(owners);
        this.name = name;
        this.parameters = parameters;
        this.result = result;
        this.missingIn = missingIn;
    }

    List<String> owners() {
        return owners;
    }

    String member() {
        return name;
    }

    boolean isField() {
        return parameters == FIELD;
    }

    int parameters() {
        return parameters;
    }

    boolean optional() {
        return missingIn != null;
    }

    /** Returns a handle of objects, numbers as long; null if it is optional and missing. */
    MethodHandle handle(ClassLoader loader) throws ReflectiveOperationException {
        Class<?> owner = owner(loader);
        MethodHandle plain = owner == null ? null : plain(owner);
        if (plain == null) {
            if (optional()) {
                return null;
            }
            throw new NoSuchMethodException(this + ": no " + name + " in " + owners.get(0));
        }
        Class<?>[] arguments = plain.type().parameterArray();
        for (int at = 0; at < arguments.length; at++) {
            arguments[at] = arguments[at].isPrimitive() ? arguments[at] : Object.class;
        }
        return plain.asType(MethodType.methodType(result, arguments));
    }

    private Class<?> owner(ClassLoader loader) {
        for (String candidate : owners) {
            try {
                return Class.forName(candidate, false, loader);
            } catch (ClassNotFoundException next) {
                // Of another version.
            }
        }
        return null;
    }

    private MethodHandle plain(Class<?> owner) throws IllegalAccessException {
        MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(owner, MethodHandles.lookup());
        if (isField()) {
            for (Field field : owner.getDeclaredFields()) {
                if (field.getName().equals(name) && !Modifier.isStatic(field.getModifiers())) {
                    return lookup.unreflectGetter(field);
                }
            }
            return null;
        }
        for (Method method : owner.getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == parameters && !method.isBridge()) {
                return lookup.unreflect(method);
            }
        }
        return null;
    }

    @Override
    public String toString() {
        String[] parts = owners.get(0).split("\\.");
        return Arrays.asList(parts).get(parts.length - 1) + "." + name + (isField() ? "" : "()");
    }
}
