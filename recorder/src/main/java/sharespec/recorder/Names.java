package sharespec.recorder;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Which share-partitions are recorded, and under which names. */
final class Names {
    private static final int REMEMBERED = 10_000;

    private final Options options;
    private final ConcurrentHashMap<String, String> hashed = new ConcurrentHashMap<>();

    Names(Options options) {
        this.options = options;
    }

    boolean recorded(String group, String topic, int partition) {
        return matches(options.groups, group) && matches(options.topics, topic)
            && sampled(group + ":" + topic + ":" + partition);
    }

    private static boolean matches(List<Pattern> patterns, String name) {
        return patterns.stream().anyMatch(pattern -> pattern.matcher(name).matches());
    }

    /** The same share-partitions are in the sample on each broker and in each run. */
    private boolean sampled(String partition) {
        if (options.sample >= 1) {
            return true;
        }
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256")
                .digest(partition.getBytes(StandardCharsets.UTF_8));
            return (ByteBuffer.wrap(digest).getLong() >>> 11) * 0x1.0p-53 < options.sample;
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException(missing);
        }
    }

    /** Returns a name as the trace shows it: itself, or a keyed hash of it. */
    String shown(String name) {
        if (options.key == null || name == null || name.isEmpty()) {
            return name;
        }
        String known = hashed.get(name);
        if (known != null) {
            return known;
        }
        if (hashed.size() >= REMEMBERED) {
            hashed.clear();
        }
        return hashed.computeIfAbsent(name, this::hash);
    }

    private String hash(String name) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(options.key, "HmacSHA256"));
            byte[] digest = mac.doFinal(name.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, 8);
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException(missing);
        }
    }
}
