package kafka.server.share;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.message.ShareFetchResponseData.AcquiredRecords;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.share.generated.ShareSnapshotKey;
import org.apache.kafka.coordinator.share.generated.ShareSnapshotValue;
import org.apache.kafka.coordinator.share.generated.ShareUpdateKey;
import org.apache.kafka.coordinator.share.generated.ShareUpdateValue;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.persister.PersisterStateBatch;

/** What happened in a run, an event a line, and a digest of all of it. Times in ms of the clock. */
final class History {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final VirtualTimer clock;
    private final String run;
    private final Writer out;
    private final MessageDigest digest;
    private int events;

    History(VirtualTimer clock, String run, Writer out) {
        this.clock = clock;
        this.run = run;
        this.out = out;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException(missing);
        }
    }

    private ObjectNode event(String name) {
        return JSON.createObjectNode().put("run", run).put("ms", clock.milliseconds()).put("event", name);
    }

    private void write(ObjectNode event) {
        try {
            String line = JSON.writeValueAsString(event) + "\n";
            digest.update(line.getBytes(StandardCharsets.UTF_8));
            out.write(line);
            events++;
        } catch (IOException wrong) {
            throw new UncheckedIOException(wrong);
        }
    }

    int events() {
        return events;
    }

    String hash() {
        return HexFormat.of().formatHex(digest.digest());
    }

    /** What was drawn: limits of the group, and after how many updates its coordinator makes a snapshot. */
    void settings(int deliveryLimit, int maxLocks, int lockMs, int updates) {
        write(event("settings").put("delivery_count_limit", deliveryLimit).put("partition_max_record_locks", maxLocks)
            .put("record_lock_duration_ms", lockMs).put("updates_per_snapshot", updates));
    }

    /** A fault is done; {@code number} is its place among those that were drawn. */
    void fault(int number, String text, long pausedMs) {
        write(event("fault").put("number", number).put("text", text).put("paused_ms", pausedMs));
    }

    void quiet() {
        write(event("quiet"));
    }

    /** A leader gave records to a member. */
    void acquired(int partition, int node, int leaderEpoch, String member, List<AcquiredRecords> records) {
        ObjectNode event = event("acquired").put("partition", partition).put("node", node)
            .put("leader_epoch", leaderEpoch).put("member", member);
        ArrayNode ranges = event.putArray("ranges");
        records.forEach(range -> ranges.addArray().add(range.firstOffset()).add(range.lastOffset())
            .add(range.deliveryCount()));
        write(event);
    }

    /** A leader is asked to take acknowledgements; {@code id} names them in the answer. Its start offset before. */
    void acknowledges(int id, int partition, int node, int leaderEpoch, long startOffset, String member,
            List<ShareAcknowledgementBatch> batches) {
        ObjectNode event = event("acknowledges").put("id", id).put("partition", partition).put("node", node)
            .put("leader_epoch", leaderEpoch).put("start_offset", startOffset).put("member", member);
        ArrayNode rows = event.putArray("batches");
        batches.forEach(batch -> rows.addArray().add(batch.firstOffset()).add(batch.lastOffset())
            .add(batch.acknowledgeTypes().get(0)));
        write(event);
    }

    /** The leader answers acknowledgements. */
    void acknowledged(int id, Errors error) {
        write(event("acknowledged").put("id", id).put("error", error.name()));
    }

    /** A leader writes its state. */
    void writes(int id, int partition, int node, int leaderEpoch, long startOffset,
            List<PersisterStateBatch> batches) {
        ObjectNode event = event("writes").put("id", id).put("partition", partition).put("node", node)
            .put("leader_epoch", leaderEpoch).put("start_offset", startOffset);
        ArrayNode rows = event.putArray("batches");
        batches.forEach(batch -> rows.addArray().add(batch.firstOffset()).add(batch.lastOffset())
            .add(batch.deliveryState()).add(batch.deliveryCount()));
        write(event);
    }

    /** A leader has the answer to a write. */
    void written(int id, Errors error) {
        write(event("written").put("id", id).put("error", error.name()));
    }

    /** A leader reads its state, to begin with. */
    void reads(int id, int partition, int node, int leaderEpoch) {
        write(event("reads").put("id", id).put("partition", partition).put("node", node)
            .put("leader_epoch", leaderEpoch));
    }

    /** A leader has the answer to a read. */
    void read(int id, Errors error) {
        write(event("read").put("id", id).put("error", error.name()));
    }

    /** A record of the state topic is committed. */
    void durable(CoordinatorRecord record) {
        ObjectNode event = event("durable");
        ArrayNode rows;
        if (record.value() == null) {
            return;
        }
        if (record.value().message() instanceof ShareUpdateValue update) {
            event.put("partition", ((ShareUpdateKey) record.key()).partition()).put("kind", "update")
                .put("leader_epoch", update.leaderEpoch()).put("start_offset", update.startOffset());
            rows = event.putArray("batches");
            update.stateBatches().forEach(batch -> rows.addArray().add(batch.firstOffset())
                .add(batch.lastOffset()).add(batch.deliveryState()).add(batch.deliveryCount()));
        } else if (record.value().message() instanceof ShareSnapshotValue snapshot) {
            event.put("partition", ((ShareSnapshotKey) record.key()).partition()).put("kind", "snapshot")
                .put("leader_epoch", snapshot.leaderEpoch()).put("start_offset", snapshot.startOffset());
            rows = event.putArray("batches");
            snapshot.stateBatches().forEach(batch -> rows.addArray().add(batch.firstOffset())
                .add(batch.lastOffset()).add(batch.deliveryState()).add(batch.deliveryCount()));
        }
        write(event);
    }

    /** Where the log of a partition ends, and its leader's window, at the end of a run. */
    void rest(int partition, long logEnd, int leaderEpoch, long startOffset, long endOffset, int completeCount) {
        write(event("rest").put("partition", partition).put("log_end_offset", logEnd)
            .put("leader_epoch", leaderEpoch).put("start_offset", startOffset).put("end_offset", endOffset)
            .put("delivery_complete_count", completeCount));
    }
}
