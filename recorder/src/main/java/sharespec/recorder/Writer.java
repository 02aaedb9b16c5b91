package sharespec.recorder;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** The one thread that orders rows and writes files. */
final class Writer implements Runnable, Ledger.Sink {
    private static final long PAUSE_NS = 5_000_000;
    private static final long TICK_MS = 500;
    private static final int BURST = 10_000;
    private static final long CLOSE_MS = 3_000;
    private static final String SWITCH = "off";

    private final Recorder recorder;
    private final TraceFiles files;
    private final Header header;
    private final Set<Ledger> waiting = new HashSet<>();
    private final Path off;
    private long dropped;
    private long droppedBefore;
    private long faultsBefore;
    private volatile boolean closing;
    private Boolean offBefore;

    Writer(Recorder recorder, Header header) {
        this.recorder = recorder;
        this.header = header;
        files = new TraceFiles(recorder.options(), recorder.startedMs());
        off = recorder.options().dir.resolve(SWITCH);
    }

    /** Starts the thread, and ends the trace in order when the broker ends in order. */
    void start() {
        Thread thread = new Thread(this, "sharespec-recorder");
        thread.setDaemon(true);
        thread.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            closing = true;
            LockSupport.unpark(thread);
            try {
                thread.join(CLOSE_MS);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }, "sharespec-recorder-close"));
    }

    @Override
    public void run() {
        long tick = 0;
        while (!closing) {
            try {
                boolean idle = drain();
                long now = recorder.nowMs();
                if (now - tick >= TICK_MS) {
                    tick = now;
                    tick(now);
                }
                if (idle) {
                    LockSupport.parkNanos(PAUSE_NS);
                }
            } catch (Throwable fault) {
                recorder.fault(null, fault);
            }
        }
        end();
    }

    private void open() {
        if (files.open(() -> header.line(recorder), System.currentTimeMillis())) {
            recorder.instances().all().forEach(Partition::wantCheckpoint);
        }
    }

    private boolean drain() {
        if (recorder.queue().size() > 0 && header.isWoven()) {
            open();
        }
        int taken = 0;
        for (Row row = recorder.queue().poll(); row != null; row = taken < BURST ? recorder.queue().poll() : null) {
            taken++;
            Ledger ledger = row.partition.ledger;
            ledger.accept(row, this);
            if (ledger.isWaiting()) {
                waiting.add(ledger);
            } else {
                waiting.remove(ledger);
            }
        }
        return taken == 0;
    }

    private void tick(long now) {
        boolean isOff = Files.exists(off);
        if (offBefore == null || offBefore != isOff) {
            offBefore = isOff;
            recorder.switchTo(!isOff);
        }
        header.prepare(recorder);
        for (Ledger ledger : waiting) {
            ledger.settle(now, this);
        }
        waiting.removeIf(ledger -> !ledger.isWaiting());
        files.commit();
        if (files.isDue(System.currentTimeMillis()) || !recorder.isRecording()) {
            close();
        }
        recorder.writable(files.failure() == null);
    }

    /** Writes all that waits and ends the file; without the thread, for who has it write at the end. */
    void end() {
        try {
            while (!drain()) {
                // A burst at a time.
            }
            for (Ledger ledger : waiting) {
                ledger.settle(Long.MAX_VALUE, this);
                ledger.close(this);
            }
            close();
        } catch (Throwable fault) {
            recorder.fault(null, fault);
        }
    }

    private void close() {
        long sum = dropped() - droppedBefore;
        long faults = recorder.faults() - faultsBefore;
        if (files.isOpen()) {
            files.close(sum, faults);
            droppedBefore += sum;
            faultsBefore += faults;
        }
    }

    @Override
    public boolean write(String line, Partition partition, long seq) {
        boolean written = files.write(line, partition, seq);
        if (written && files.isDue(System.currentTimeMillis())) {
            close();
            open();
        }
        return written;
    }

    @Override
    public void done(Row row, boolean written) {
        recorder.queue().release(row);
        if (!written) {
            dropped++;
        }
    }

    @Override
    public Names names() {
        return recorder.names();
    }

    long written() {
        return files.written();
    }

    long dropped() {
        return dropped + files.undone() + recorder.queue().dropped();
    }

    String failure() {
        return files.failure();
    }
}
