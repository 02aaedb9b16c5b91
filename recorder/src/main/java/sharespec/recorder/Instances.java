package sharespec.recorder;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;

/** The share-partitions by Kafka's objects, which are not kept alive by it. */
final class Instances {
    private final Recorder recorder;
    private final ConcurrentHashMap<Key, Partition> known = new ConcurrentHashMap<>();
    private final ReferenceQueue<Object> gone = new ReferenceQueue<>();

    Instances(Recorder recorder) {
        this.recorder = recorder;
    }

    /** A SharePartition is itself, whatever it says of equality. */
    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object source, ReferenceQueue<Object> queue) {
            super(source, queue);
            hash = System.identityHashCode(source);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            Object source = get();
            return this == other || source != null && other instanceof Key key && key.get() == source;
        }
    }

    Partition of(Object source) throws Throwable {
        Partition partition = known.get(new Key(source, null));
        return partition == null ? add(source) : partition;
    }

    private Partition add(Object source) throws Throwable {
        for (Object key = gone.poll(); key != null; key = gone.poll()) {
            known.remove(key);
        }
        Partition made = new Partition(recorder, source);
        Partition before = known.putIfAbsent(new Key(source, gone), made);
        return before == null ? made : before;
    }

    Collection<Partition> all() {
        return known.values();
    }

    /** What was known is of no use after a time without recording. */
    void forget() {
        known.clear();
    }
}
