package sharespec.recorder;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The files of the trace in one directory: by size and age one after another, the oldest deleted
 * where all would be larger than the quota.
 *
 * <p>When the disk is full, or nearly, or fails otherwise, nothing is written for a while; what it
 * took is remembered by the share-partitions, which go on with a checkpoint.
 */
final class TraceFiles {
    private static final int BLOCK = 128 * 1024;
    private static final long RETRY_MS = 5_000;
    private static final String PREFIX = "sharespec-";
    private static final String SUFFIX = ".jsonl.gz";

    private final Options options;
    private final String run;
    private final StringBuilder block = new StringBuilder(BLOCK + 4096);
    /** The first place of each share-partition in the block, to go back to if it cannot be written. */
    private final Map<Partition, Long> places = new HashMap<>();
    private TraceFile file;
    private long openedMs;
    private int count;
    private long rowsInBlock;
    private long rowsInFile;
    private long written;
    private long undone;
    private long failedMs;
    private volatile String failure;

    TraceFiles(Options options, long startedMs) {
        this.options = options;
        run = PREFIX + startedMs + "-" + ProcessHandle.current().pid() + "-";
    }

    /** Why nothing is written now, or null. */
    String failure() {
        return failure;
    }

    long written() {
        return written;
    }

    /** How many rows were thought to be written and are not. */
    long undone() {
        return undone;
    }

    boolean isOpen() {
        return file != null;
    }

    boolean isDue(long nowMs) {
        return file != null && (file.length() >= Math.min(options.maxFile, Math.max(1, options.quota / 4))
            || nowMs - openedMs >= options.maxAgeMs);
    }

    boolean write(String line, Partition partition, long seq) {
        if (file == null) {
            return false;
        }
        block.append(line).append('\n');
        rowsInBlock++;
        places.putIfAbsent(partition, seq);
        return block.length() < BLOCK || commit();
    }

    /**
     * Opens the next file if none is open; after a failure only when some time has passed. Returns
     * whether it did.
     */
    boolean open(Supplier<String> header, long nowMs) {
        if (file != null || failure != null && nowMs - failedMs < RETRY_MS) {
            return false;
        }
        try {
            Files.createDirectories(options.dir);
            makeRoom();
            file = new TraceFile(options.dir.resolve(run + String.format("%06d", count++) + SUFFIX));
            file.add(header.get() + "\n");
            openedMs = nowMs;
            rowsInFile = 0;
            if (failure != null) {
                failure = null;
                Log.line("writing again to " + options.dir);
            }
            return true;
        } catch (IOException | RuntimeException failed) {
            fail(failed, nowMs);
            return false;
        }
    }

    /** Deletes the oldest files until one more fits, and raises if the disk has no room for it. */
    private void makeRoom() throws IOException {
        List<Path> all;
        try (Stream<Path> paths = Files.list(options.dir)) {
            all = paths.filter(path -> path.getFileName().toString().startsWith(PREFIX)
                && path.getFileName().toString().endsWith(SUFFIX))
                .sorted(Comparator.comparing(path -> path.getFileName().toString())).toList();
        }
        long sum = 0;
        for (Path path : all) {
            sum += Files.size(path);
        }
        long allowed = options.quota - Math.min(options.maxFile, Math.max(1, options.quota / 4));
        for (Path path : all) {
            if (sum <= allowed) {
                break;
            }
            sum -= Files.size(path);
            Files.delete(path);
        }
        checkFree();
    }

    private void checkFree() throws IOException {
        long free = Files.getFileStore(options.dir).getUsableSpace();
        if (free < options.minFree) {
            throw new IOException("the disk has " + free + " bytes left, less than min_free");
        }
    }

    /** Writes the block; if that fails, its rows count as lost. */
    boolean commit() {
        if (block.length() == 0) {
            return true;
        }
        try {
            checkFree();
            file.add(block);
            written += rowsInBlock;
            rowsInFile += rowsInBlock;
            clear();
            return true;
        } catch (IOException | RuntimeException failed) {
            fail(failed, System.currentTimeMillis());
            return false;
        }
    }

    private void clear() {
        block.setLength(0);
        rowsInBlock = 0;
        places.clear();
    }

    private void fail(Exception failed, long nowMs) {
        if (failure == null) {
            Log.line("nothing is written, the broker runs on: " + failed);
        }
        failure = failed.toString();
        failedMs = nowMs;
        undone += rowsInBlock;
        Map<Partition, Long> lost = Map.copyOf(places);
        clear();
        abandon();
        lost.forEach((partition, seq) -> partition.ledger.undo(seq));
    }

    private void abandon() {
        if (file != null) {
            try {
                file.close();
            } catch (IOException worse) {
                // It failed already.
            }
            file = null;
        }
    }

    /** Ends the file with a line that counts what is in it. */
    void close(long dropped, long faults) {
        if (file == null || !commit()) {
            return;
        }
        Json json = new Json().clear().open('{').key("trailer").open('{').key("written").number(rowsInFile)
            .key("dropped").number(dropped).key("faults").number(faults).close('}').close('}');
        try {
            file.add(json + "\n");
        } catch (IOException failed) {
            fail(failed, System.currentTimeMillis());
        }
        abandon();
    }
}
