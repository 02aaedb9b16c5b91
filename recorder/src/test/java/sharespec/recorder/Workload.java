package sharespec.recorder;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Real members of a share group, and what else happens to one: a word for each, which may occur
 * more than once.
 *
 * <p>Members: accept, mixed (also releases and rejects), renew, stall (a lock runs out), sleep (far
 * longer), limit (asks for a limit of records). Around them: produce, trickle (a record at a
 * time), transactions, delete (records), alter (settings).
 */
public final class Workload {
    private static final int PARTITIONS = 2;
    private static final int LOCK_MS = 2000;
    private static final int MANY = 30;
    private static final int OFTEN_MS = 40;
    private static final int SELDOM_MS = 1000;
    private static final int PATIENCE = 60;

    private final String bootstrap;
    private final String group;
    private final String topic;
    private final long seconds;
    private final long startedNs = System.nanoTime();
    private final AtomicLong firstNs = new AtomicLong();
    private final AtomicLong consumed = new AtomicLong();
    private final AtomicLong produced = new AtomicLong();

    private Workload(String bootstrap, String group, String topic, long seconds) {
        this.bootstrap = bootstrap;
        this.group = group;
        this.topic = topic;
        this.seconds = seconds;
    }

    /** Arguments: bootstrap, group, topic, seconds, seed, words, and settings of the group. */
    public static void main(String[] args) throws Exception {
        Workload workload = new Workload(args[0], args[1], args[2], Long.parseLong(args[3]));
        Map<String, String> settings = new java.util.TreeMap<>(Map.of("share.auto.offset.reset", "earliest",
            "share.record.lock.duration.ms", String.valueOf(LOCK_MS)));
        for (int at = 6; at < args.length; at++) {
            String[] pair = args[at].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        workload.prepare(settings);
        List<Thread> threads = new ArrayList<>();
        int seed = Integer.parseInt(args[4]);
        List<Throwable> failures = java.util.Collections.synchronizedList(new ArrayList<>());
        for (String word : args[5].split(",")) {
            Random random = new Random(seed++);
            Thread thread = new Thread(() -> {
                try {
                    workload.play(word, random);
                } catch (Throwable failed) {
                    failures.add(failed);
                }
            }, word);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (Throwable failure : failures) {
            failure.printStackTrace();
        }
        System.out.println("{\"produced\":" + workload.produced + ",\"consumed\":" + workload.consumed
            + ",\"failures\":" + failures.size() + "}");
    }

    /** The time counts from the first record that a member gets: to join a group takes seconds. */
    private boolean goesOn() {
        long first = firstNs.get();
        long until = first == 0 ? startedNs + TimeUnit.SECONDS.toNanos(PATIENCE + seconds)
            : first + TimeUnit.SECONDS.toNanos(seconds);
        return System.nanoTime() < until;
    }

    private void prepare(Map<String, String> settings) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            if (!admin.listTopics().names().get().contains(topic)) {
                create(admin);
            }
            alter(admin, settings);
        }
    }

    /** Another run may create it at the same time. */
    private void create(Admin admin) throws Exception {
        try {
            admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get();
        } catch (ExecutionException error) {
            if (!(error.getCause() instanceof TopicExistsException)) {
                throw error;
            }
        }
    }

    private void alter(Admin admin, Map<String, String> settings) throws Exception {
        List<AlterConfigOp> all = settings.entrySet().stream().map(entry -> new AlterConfigOp(
            new ConfigEntry(entry.getKey(), entry.getValue()), AlterConfigOp.OpType.SET)).toList();
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), all)).all().get();
    }

    private void play(String word, Random random) throws Exception {
        switch (word) {
            case "produce" -> produce(random, false, MANY);
            case "trickle" -> produce(random, false, 1);
            case "transactions" -> produce(random, true, MANY);
            case "delete" -> delete(random);
            case "alter" -> alterSometimes(random);
            default -> consume(word, random);
        }
    }

    private void produce(Random random, boolean inTransactions, int most) throws Exception {
        Map<String, Object> settings = new java.util.HashMap<>(Map.of("bootstrap.servers", bootstrap, "linger.ms", 1,
            "key.serializer", ByteArraySerializer.class, "value.serializer", ByteArraySerializer.class));
        if (inTransactions) {
            settings.put("transactional.id", "t" + random.nextInt(1 << 20));
        }
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            if (inTransactions) {
                producer.initTransactions();
            }
            while (goesOn()) {
                if (inTransactions) {
                    producer.beginTransaction();
                }
                send(producer, random, most);
                if (inTransactions && random.nextInt(3) == 0) {
                    producer.flush();
                    producer.abortTransaction();
                } else if (inTransactions) {
                    producer.commitTransaction();
                }
                Thread.sleep(random.nextInt(most == 1 ? SELDOM_MS : OFTEN_MS));
            }
        }
    }

    private void send(KafkaProducer<byte[], byte[]> producer, Random random, int most) {
        int partition = random.nextInt(PARTITIONS);
        int count = 1 + random.nextInt(most);
        for (int sent = 0; sent < count; sent++) {
            producer.send(new ProducerRecord<>(topic, partition, null, new byte[20]));
        }
        produced.addAndGet(count);
    }

    private void delete(Random random) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            while (goesOn()) {
                Thread.sleep(500 + random.nextInt(1000));
                TopicPartition place = new TopicPartition(topic, random.nextInt(PARTITIONS));
                long end = admin.listOffsets(Map.of(place, org.apache.kafka.clients.admin.OffsetSpec.latest()))
                    .partitionResult(place).get().offset();
                long to = Math.max(0, end - random.nextInt(200));
                admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(to))).all().get();
            }
        } catch (java.util.concurrent.ExecutionException outOfRange) {
            System.err.println(outOfRange);
        }
    }

    private void alterSometimes(Random random) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            while (goesOn()) {
                Thread.sleep(1000 + random.nextInt(1000));
                alter(admin, Map.of("share.record.lock.duration.ms", String.valueOf(1500 + 500 * random.nextInt(3))));
                alterLimit(admin, String.valueOf(3 + random.nextInt(4)));
            }
        }
    }

    /** Kafka 4.2 has no such setting of a group. */
    private void alterLimit(Admin admin, String limit) throws Exception {
        try {
            alter(admin, Map.of("share.delivery.count.limit", limit));
        } catch (java.util.concurrent.ExecutionException unknown) {
            System.err.println(unknown);
        }
    }

    private KafkaShareConsumer<byte[], byte[]> consumer(String word) {
        KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(Map.of(
            "bootstrap.servers", bootstrap, "group.id", group, "share.acknowledgement.mode", "explicit",
            "share.acquire.mode", word.equals("limit") ? "record_limit" : "batch_optimized", "max.poll.records", 50,
            "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class));
        consumer.subscribe(List.of(topic));
        return consumer;
    }

    private void consume(String word, Random random) throws InterruptedException {
        try (KafkaShareConsumer<byte[], byte[]> consumer = consumer(word)) {
            while (goesOn()) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    consumer.acknowledge(record, answer(word, random));
                    if (consumed.getAndIncrement() == 0) {
                        firstNs.set(System.nanoTime());
                        System.out.println("working");
                    }
                }
                if (word.equals("stall") && random.nextInt(6) == 0) {
                    Thread.sleep(2 * LOCK_MS);
                }
                if (word.equals("sleep") && random.nextInt(3) == 0) {
                    Thread.sleep(5 * LOCK_MS);
                }
                commit(consumer, random);
            }
        }
    }

    private static void commit(KafkaShareConsumer<byte[], byte[]> consumer, Random random) {
        if (random.nextBoolean()) {
            consumer.commitSync(Duration.ofSeconds(5));
        } else {
            consumer.commitAsync();
        }
    }

    private static AcknowledgeType answer(String word, Random random) {
        int lot = random.nextInt(20);
        if (word.equals("accept") || lot > 5) {
            return AcknowledgeType.ACCEPT;
        } else if (word.equals("renew") && lot < 3) {
            return AcknowledgeType.RENEW;
        } else if (lot == 5) {
            return AcknowledgeType.REJECT;
        }
        return AcknowledgeType.RELEASE;
    }
}
