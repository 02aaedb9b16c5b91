import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Produces records, consumes them, releases each odd one once, and prints value:deliveryCount. */
public class Consume {
    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        String topic = args[1];
        int records = Integer.parseInt(args[2]);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(Map.of(
            "bootstrap.servers", bootstrap, "key.serializer", StringSerializer.class,
            "value.serializer", StringSerializer.class))) {
            for (int i = 0; i < records; i++) {
                producer.send(new ProducerRecord<>(topic, String.valueOf(i))).get();
            }
        }
        Map<Integer, Integer> counts = new TreeMap<>();
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(Map.of(
            "bootstrap.servers", bootstrap, "group.id", "g", "share.acknowledgement.mode", "explicit",
            "key.deserializer", StringDeserializer.class, "value.deserializer", StringDeserializer.class))) {
            consumer.subscribe(List.of(topic));
            long until = System.nanoTime() + 60_000_000_000L;
            while (counts.size() < records && System.nanoTime() < until) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    int value = Integer.parseInt(record.value());
                    int count = record.deliveryCount().get();
                    boolean again = value % 2 == 1 && count == 1;
                    consumer.acknowledge(record, again ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
                    if (!again) {
                        counts.put(value, count);
                    }
                }
                consumer.commitSync().forEach((partition, error) -> error.ifPresent(e -> {
                    throw e;
                }));
            }
        }
        counts.forEach((value, count) -> System.out.println(value + ":" + count));
    }
}
