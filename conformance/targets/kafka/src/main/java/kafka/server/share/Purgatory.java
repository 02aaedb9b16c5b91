package kafka.server.share;

import java.util.ArrayList;
import java.util.List;
import kafka.server.ReplicaManager;
import org.apache.kafka.server.share.fetch.DelayedShareFetchKey;
import org.apache.kafka.server.share.fetch.ShareFetch;
import org.apache.kafka.server.util.timer.TimerTask;

/** What share fetches need of a replica manager: where they wait, on the virtual clock. Nothing else works. */
final class Purgatory extends ReplicaManager {
    private ClusterNode node;
    private List<DelayedShareFetch> waiting;

    /** Never runs: a replica manager needs a whole broker, and only what is overridden here is called. */
    private Purgatory() {
        super(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
            null, null, null, null, null);
    }

    static Purgatory of(ClusterNode node) {
        Purgatory made = Hidden.made(Purgatory.class);
        made.node = node;
        made.waiting = new ArrayList<>();
        return made;
    }

    @Override
    public void addDelayedShareFetchRequest(DelayedShareFetch fetch, List<DelayedShareFetchKey> keys) {
        if (!fetch.tryComplete()) {
            waiting.add(fetch);
            node.timer.add(fetch);
        }
    }

    /** Each fetch that waits looks again, whatever key changed. */
    @Override
    public void completeDelayedShareFetchRequest(DelayedShareFetchKey key) {
        for (DelayedShareFetch fetch : List.copyOf(waiting)) {
            if (!fetch.isCompleted()) {
                fetch.tryComplete();
            }
        }
        waiting.removeIf(DelayedShareFetch::isCompleted);
    }

    /** Fetches of a member never look again. */
    void forget(String member) {
        waiting.removeIf(fetch -> {
            boolean forgotten = ((ShareFetch) Hidden.of(fetch, "shareFetch")).memberId().equals(member);
            if (forgotten) {
                fetch.cancel();
            }
            return forgotten;
        });
    }

    @Override
    public void addShareFetchTimerRequest(TimerTask task) {
        node.timer.add(task);
    }

    @Override
    public void addToActionQueue(Runnable action) {
        node.soon(action);
    }
}
