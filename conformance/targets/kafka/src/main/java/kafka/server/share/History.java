package kafka.server.share;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.common.message.InitializeShareGroupStateRequestData;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.share.generated.ShareSnapshotKey;
import org.apache.kafka.coordinator.share.generated.ShareSnapshotValue;
import org.apache.kafka.coordinator.share.generated.ShareUpdateKey;
import org.apache.kafka.coordinator.share.generated.ShareUpdateValue;

/** What happened in a run, an event a line. Times in ms of the clock. */
final class History {
    private final VirtualTimer clock;
    private final String run;
    private final Writer out;
    private final Map<List<Number>, Integer> initialized = new HashMap<>();
    private boolean tellsStates;

    History(VirtualTimer clock, String run, Writer out) {
        this.clock = clock;
        this.run = run;
        this.out = out;
    }

    /** From here on states that are initialized, or deleted, are told. */
    void tellsStates() {
        tellsStates = true;
    }

    /** Writes what happened: its name, and then the name and the value of each of its fields. */
    void add(String event, Object... fields) {
        StringBuilder row = new StringBuilder(200).append("{\"run\":\"").append(run).append("\",\"ms\":")
            .append(clock.milliseconds()).append(",\"event\":\"").append(event).append('"');
        for (int i = 0; i < fields.length; i += 2) {
            write(row.append(",\"").append(fields[i]).append("\":"), fields[i + 1]);
        }
        try {
            out.append(row.append("}\n"));
        } catch (IOException wrong) {
            throw new UncheckedIOException(wrong);
        }
    }

    /** As an ObjectMapper does it, which takes a seventh of the time of a run. */
    private static void write(StringBuilder row, Object value) {
        if (value instanceof List<?> values) {
            for (int i = 0; i < values.size(); i++) {
                write(row.append(i == 0 ? '[' : ','), values.get(i));
            }
            row.append(values.isEmpty() ? "[]" : "]");
        } else if (value instanceof long[] numbers) {
            row.append('[').append(numbers[0]);
            for (int i = 1; i < numbers.length; i++) {
                row.append(',').append(numbers[i]);
            }
            row.append(']');
        } else if (value instanceof Number || value instanceof Boolean) {
            row.append(value);
        } else {
            row.append('"').append(JsonStringEncoder.getInstance().quoteAsString(value.toString())).append('"');
        }
    }

    /** A share coordinator is asked to initialize share-partitions, or did not. */
    void initializes(InitializeShareGroupStateRequestData request, int more) {
        request.topics().forEach(topic -> topic.partitions().forEach(each ->
            initialized.merge(List.of(each.partition(), each.stateEpoch(), each.startOffset()), more, Integer::sum)));
    }

    /** A record of the state topic is committed. */
    void durable(CoordinatorRecord record) {
        if (record.value() == null) {
            add("begins", "partition", ((ShareSnapshotKey) record.key()).partition(), "state_epoch", -1, "start_offset", -1);
            return;
        }
        if (tellsStates && record.value().message() instanceof ShareSnapshotValue snapshot && snapshot.stateBatches().isEmpty()) {
            int partition = ((ShareSnapshotKey) record.key()).partition();
            List<Number> state = List.of(partition, snapshot.stateEpoch(), snapshot.startOffset());
            if (snapshot.leaderEpoch() <= 0 && initialized.getOrDefault(state, 0) > 0) {
                initialized.merge(state, -1, Integer::sum);
                add("begins", "partition", partition, "state_epoch", snapshot.stateEpoch(), "start_offset", snapshot.startOffset());
            }
        }
        if (record.value().message() instanceof ShareUpdateValue update) {
            add("durable", "partition", ((ShareUpdateKey) record.key()).partition(), "kind", "update", "leader_epoch",
                update.leaderEpoch(), "start_offset", update.startOffset(), "batches", rows(update.stateBatches(), batch ->
                    new long[] {batch.firstOffset(), batch.lastOffset(), batch.deliveryState(), batch.deliveryCount()}));
        } else if (record.value().message() instanceof ShareSnapshotValue snapshot) {
            add("durable", "partition", ((ShareSnapshotKey) record.key()).partition(), "kind", "snapshot", "leader_epoch",
                snapshot.leaderEpoch(), "start_offset", snapshot.startOffset(), "batches", rows(snapshot.stateBatches(),
                    batch -> new long[] {batch.firstOffset(), batch.lastOffset(), batch.deliveryState(),
                        batch.deliveryCount()}));
        }
    }

    static <T> List<long[]> rows(List<T> batches, Function<T, long[]> row) {
        return batches.stream().map(row).toList();
    }
}
