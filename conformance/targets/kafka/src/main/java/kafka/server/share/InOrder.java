package kafka.server.share;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEventProcessor;

/** Runs the coordinator's events at once, one after the other. */
final class InOrder implements CoordinatorEventProcessor {
    private final Deque<CoordinatorEvent> events = new ArrayDeque<>();
    private boolean running;

    @Override
    public void enqueueLast(CoordinatorEvent event) {
        events.addLast(event);
        run();
    }

    @Override
    public void enqueueFirst(CoordinatorEvent event) {
        events.addFirst(event);
        run();
    }

    private void run() {
        if (running) {
            return;
        }
        running = true;
        try {
            while (!events.isEmpty()) {
                CoordinatorEvent event = events.pollFirst();
                try {
                    event.run();
                } catch (RuntimeException wrong) {
                    event.complete(wrong);
                }
            }
        } finally {
            running = false;
        }
    }

    @Override
    public void close() { }
}
