import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;

/** What the drivers in Java have in common; docs/verify-client.md has the commands. */
abstract class ShareDriver {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Where a record is. */
    record Offset(String topic, int partition, long offset) {
        static Offset of(ConsumerRecord<?, ?> record) {
            return new Offset(record.topic(), record.partition(), record.offset());
        }
    }

    private static final Pattern OFFSETS = Pattern.compile("([\\w.]+)-(\\d+)=\\[([\\d, ]+)]");

    private final Queue<ObjectNode> completed = new ConcurrentLinkedQueue<>();
    boolean throwing;

    abstract void hello(ObjectNode answer) throws Exception;

    abstract void open(JsonNode command) throws Exception;

    abstract void subscribe(List<String> topics);

    abstract void poll(long timeoutMs, ArrayNode records) throws Exception;

    abstract void acknowledge(Offset at, int type) throws Exception;

    abstract void commit(long timeoutMs, ArrayNode results) throws Exception;

    abstract void commitAsync();

    abstract void close();

    /** Carry out each line of the standard input, and end the process with it, whatever threads go on. */
    final void drive() throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode command = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                carryOut(command, answer);
            } catch (Exception error) {
                answer.put("error", named(error));
            }
            ArrayNode said = answer.putArray("completed");
            for (ObjectNode each = completed.poll(); each != null; each = completed.poll()) {
                said.add(each);
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
            if (command.get("do").asText().equals("goodbye")) {
                break;
            }
        }
        System.exit(0);
    }

    private void carryOut(JsonNode command, ObjectNode answer) throws Exception {
        switch (command.get("do").asText()) {
            case "hello" -> {
                answer.put("protocol", 1);
                hello(answer);
            }
            case "open" -> open(command);
            case "subscribe" -> {
                List<String> topics = new ArrayList<>();
                command.get("topics").forEach(topic -> topics.add(topic.asText()));
                subscribe(topics);
            }
            case "poll" -> poll(command.get("timeout_ms").asLong(), answer.putArray("records"));
            case "acknowledge" -> {
                Offset at = new Offset(command.get("topic").asText(), command.get("partition").asInt(),
                    command.get("offset").asLong());
                acknowledge(at, command.get("type").asInt());
            }
            case "commit" -> commit(command.get("timeout_ms").asLong(), answer.putArray("results"));
            case "commit_async" -> commitAsync();
            case "close" -> close();
            case "throw" -> throwing = true;
            case "goodbye" -> { }
            default -> throw new IllegalArgumentException("no such command: " + command.get("do"));
        }
    }

    static void deliver(ArrayNode records, ConsumerRecord<String, String> record) {
        ObjectNode item = place(record.topic(), record.partition());
        item.put("offset", record.offset());
        item.put("delivery_count", record.deliveryCount().orElse((short) 0));
        item.put("value", record.value());
        records.add(item);
    }

    /** Note what a callback says of acknowledgements, in whatever thread it comes. */
    final void complete(String topic, int partition, Collection<Long> offsets, Throwable error) {
        ObjectNode said = outcome(topic, partition, error);
        ArrayNode list = said.putArray("offsets");
        new TreeSet<>(offsets).forEach(list::add);
        completed.add(said);
    }

    /** Return the offsets that a line of a log names, as Java writes a map of partitions to sets of them. */
    static List<Offset> offsetsIn(String line) {
        List<Offset> offsets = new ArrayList<>();
        for (Matcher named = OFFSETS.matcher(line); named.find();) {
            for (String offset : named.group(3).split(", ")) {
                offsets.add(new Offset(named.group(1), Integer.parseInt(named.group(2)), Long.parseLong(offset)));
            }
        }
        return offsets;
    }

    static ObjectNode outcome(String topic, int partition, Throwable error) {
        return place(topic, partition).put("error", error == null ? null : named(error));
    }

    private static ObjectNode place(String topic, int partition) {
        return JSON.createObjectNode().put("topic", topic).put("partition", partition);
    }

    private static String named(Throwable error) {
        return error.getClass().getSimpleName() + ": " + error.getMessage();
    }

    /** Refuses one value, as a deserializer does what it cannot read. */
    public static class Refusing implements Deserializer<String> {
        @Override
        public String deserialize(String topic, byte[] data) {
            String text = new String(data, StandardCharsets.UTF_8);
            if ("unreadable".equals(text)) {
                throw new SerializationException(text);
            }
            return text;
        }
    }
}
