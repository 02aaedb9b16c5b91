package sharespec.recorder;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Two share consumers take records that are there; arguments: bootstrap, name, records, and either
 * prepare, which puts them there, or consume.
 */
public final class Cost {
    private static final int MEMBERS = 2;
    private static final int BYTES = 100;

    private Cost() { }

    public static void main(String[] args) throws Exception {
        long count = Long.parseLong(args[2]);
        if (args[3].equals("prepare")) {
            prepare(args[0], args[1], count);
            return;
        }
        AtomicLong taken = new AtomicLong();
        AtomicLong first = new AtomicLong();
        List<Long> commits = Collections.synchronizedList(new ArrayList<>());
        List<Thread> members = new ArrayList<>();
        for (int at = 0; at < MEMBERS; at++) {
            Thread thread = new Thread(() -> consume(args[0], args[1], count, taken, first, commits));
            thread.start();
            members.add(thread);
        }
        for (Thread member : members) {
            member.join();
        }
        double seconds = (System.nanoTime() - first.get()) / 1e9;
        long[] sorted = commits.stream().mapToLong(Long::longValue).sorted().toArray();
        System.out.println(Arrays.stream(new double[] {count / seconds, at(sorted, 0.5), at(sorted, 0.95),
            at(sorted, 0.99)}).mapToObj(value -> String.format(java.util.Locale.ROOT, "%.2f", value)).toList());
    }

    private static double at(long[] sorted, double part) {
        return sorted[(int) (part * (sorted.length - 1))] / 1e6;
    }

    private static void prepare(String bootstrap, String name, long count) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(name, 2, (short) 1))).all().get();
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, name), List.of(
                new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"),
                    AlterConfigOp.OpType.SET)))).all().get();
        }
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap,
                "linger.ms", 5, "key.serializer", ByteArraySerializer.class,
                "value.serializer", ByteArraySerializer.class))) {
            for (long sent = 0; sent < count; sent++) {
                producer.send(new ProducerRecord<>(name, (int) (sent % 2), null, new byte[BYTES]));
            }
        }
    }

    private static void consume(String bootstrap, String name, long count, AtomicLong taken, AtomicLong first,
            List<Long> commits) {
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(Map.of(
                "bootstrap.servers", bootstrap, "group.id", name,
                "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class))) {
            consumer.subscribe(List.of(name));
            while (taken.get() < count) {
                int size = consumer.poll(Duration.ofMillis(100)).count();
                if (size > 0) {
                    first.compareAndSet(0, System.nanoTime());
                    long before = System.nanoTime();
                    consumer.commitSync();
                    commits.add(System.nanoTime() - before);
                    taken.addAndGet(size);
                }
            }
        }
    }
}
