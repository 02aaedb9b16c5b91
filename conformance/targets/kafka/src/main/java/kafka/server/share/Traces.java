package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;

/**
 * The traces of a run's leaders, written by the recorder of this project, which is an agent of this
 * process if it was asked for: reached by name, as this is built without it.
 */
final class Traces implements AutoCloseable {
    private static final String RECORDER = "sharespec.recorder.Runs";

    private final Class<?> recorder;

    private Traces(Class<?> recorder) {
        this.recorder = recorder;
    }

    /** Begins to record to a folder; does nothing if none is named. */
    static Traces of(JsonNode folder, Cluster cluster) throws ReflectiveOperationException {
        if (!folder.isTextual()) {
            return new Traces(null);
        }
        Field persister = Hidden.field(SharePartition.class, "persister");
        ToIntFunction<Object> node = source -> {
            try {
                return ((WrittenPersister) persister.get(source)).node();
            } catch (IllegalAccessException wrong) {
                throw new IllegalStateException(wrong);
            }
        };
        Class<?> found = Class.forName(RECORDER);
        found.getMethod("begin", Path.class, LongSupplier.class, ToIntFunction.class)
            .invoke(null, Path.of(folder.asText()), (LongSupplier) cluster.clock::milliseconds, node);
        return new Traces(found);
    }

    @Override
    public void close() throws ReflectiveOperationException {
        if (recorder != null) {
            recorder.getMethod("end").invoke(null);
        }
    }
}
