package sharespec.recorder;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/** The agent's options: {@code name=value}, separated by commas; lists by {@code |}. */
final class Options {
    final Path dir;
    final List<Pattern> groups;
    final List<Pattern> topics;
    final double sample;
    final byte[] key;
    final long records;
    final long checkpoint;
    final long checkpointMs;
    final long maxFile;
    final long maxAgeMs;
    final long quota;
    final long minFree;
    final int queueRows;
    final long queueBytes;
    final long faults;
    final long settleMs;

    private final String text;
    private final Set<String> used = new HashSet<>();

    Options(String text) {
        this(text, null);
    }

    /** With a folder that may have any name. */
    Options(String text, Path folder) {
        this.text = text == null ? "" : text.trim();
        String named = value("dir", "sharespec-trace");
        dir = folder == null ? Path.of(named) : folder;
        groups = patterns(value("groups", "*"));
        topics = patterns(value("topics", "*"));
        sample = fraction("sample", value("sample", "1"));
        String hash = value("hash", "");
        key = hash.isEmpty() ? null : hash.getBytes(StandardCharsets.UTF_8);
        records = size("records", "0");
        checkpoint = size("checkpoint", "2000");
        checkpointMs = 1000 * size("checkpoint_s", "60");
        maxFile = atLeastOne("max_file", "64m");
        maxAgeMs = 1000 * atLeastOne("max_age_s", "3600");
        quota = atLeastOne("quota", "1g");
        minFree = size("min_free", "1g");
        queueRows = (int) Math.min(Integer.MAX_VALUE, atLeastOne("queue", "50000"));
        queueBytes = atLeastOne("memory", "64m");
        faults = atLeastOne("faults", "20");
        settleMs = size("settle_ms", "10000");
        for (String part : parts()) {
            String name = part.split("=", 2)[0];
            if (!used.contains(name)) {
                throw new IllegalArgumentException("unknown option '" + name + "'; known are "
                    + used.stream().sorted().toList());
            }
        }
    }

    private List<String> parts() {
        return Arrays.stream(text.split(",")).map(String::trim).filter(part -> !part.isEmpty()).toList();
    }

    private String value(String name, String otherwise) {
        used.add(name);
        for (String part : parts()) {
            String[] pair = part.split("=", 2);
            if (pair[0].equals(name)) {
                if (pair.length < 2 || pair[1].isEmpty()) {
                    throw new IllegalArgumentException("option '" + name + "' needs a value");
                }
                return pair[1];
            }
        }
        return otherwise;
    }

    private long atLeastOne(String name, String otherwise) {
        long size = size(name, otherwise);
        if (size < 1) {
            throw new IllegalArgumentException("option '" + name + "' must be at least 1");
        }
        return size;
    }

    private long size(String name, String otherwise) {
        String size = value(name, otherwise);
        int unit = "kmg".indexOf(Character.toLowerCase(size.charAt(size.length() - 1)));
        String digits = unit < 0 ? size : size.substring(0, size.length() - 1);
        if (!digits.matches("[0-9]{1,12}")) {
            throw new IllegalArgumentException("option '" + name + "' is no whole number: " + size);
        }
        return Long.parseLong(digits) << (10 * (unit + 1));
    }

    private static double fraction(String name, String text) {
        double value = text.matches("[0-9]+(\\.[0-9]+)?") ? Double.parseDouble(text) : -1;
        if (value <= 0 || value > 1) {
            throw new IllegalArgumentException("option '" + name + "' must be above 0 and at most 1: " + text);
        }
        return value;
    }

    private static List<Pattern> patterns(String text) {
        return Arrays.stream(text.split("\\|"))
            .map(glob -> Pattern.compile(Pattern.quote(glob).replace("*", "\\E.*\\Q"))).toList();
    }

    /** Returns the filters as they were given. */
    String filters() {
        return "groups=" + value("groups", "*") + ",topics=" + value("topics", "*");
    }

    @Override
    public String toString() {
        return "dir=" + dir.toAbsolutePath() + ", sample=" + sample + ", records=" + records
            + ", checkpoint=" + checkpoint + ", checkpoint_s=" + checkpointMs / 1000;
    }
}
