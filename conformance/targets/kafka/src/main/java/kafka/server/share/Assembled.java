package kafka.server.share;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;

/** Puts Kafka's objects together by the types that they ask for, which differ from release to release. */
final class Assembled {
    private static final long END_OFFSET = 1000;
    private static final Map<Class<?>, Class<?>> BOXES = Map.of(int.class, Integer.class, long.class, Long.class);

    private Assembled() { }

    /** Returns a new object of the longest constructor, each argument the first of {@code parts} that fits. */
    static <T> T create(Class<T> type, List<?> parts) {
        Constructor<?> longest = Arrays.stream(type.getDeclaredConstructors())
            .max(Comparator.comparingInt(Constructor::getParameterCount)).orElseThrow();
        Object[] arguments = Arrays.stream(longest.getParameterTypes())
            .map(wanted -> part(wanted, parts)).toArray();
        longest.setAccessible(true);
        try {
            return type.cast(longest.newInstance(arguments));
        } catch (InvocationTargetException error) {
            throw new IllegalStateException(error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Object part(Class<?> wanted, List<?> parts) {
        Class<?> boxed = BOXES.getOrDefault(wanted, wanted);
        for (Object part : parts) {
            if (boxed.isInstance(part)) {
                return part;
            }
        }
        if (wanted.getSimpleName().equals("PartitionMetadataClient")) {
            return standIn(wanted, (method, given) -> method.equals("close") ? null : ends(wanted, (Set<?>) given[0]));
        }
        try {
            if (wanted.getSimpleName().equals("LogContext")) {
                return wanted.getConstructor(String.class).newInstance("");
            }
            ConfigDef settings = new ConfigDef((ConfigDef) wanted.getField("CONFIG_DEF").get(null));
            ConfigDef others = (ConfigDef) GroupCoordinatorConfig.class.getField("CONFIG_DEF").get(null);
            others.configKeys().values().forEach(settings::define);
            return wanted.getConstructor(AbstractConfig.class).newInstance(new AbstractConfig(settings, Map.of()));
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("nothing fits " + wanted, error);
        }
    }

    /** Returns for each topic partition the same end offset. */
    private static Map<Object, CompletableFuture<?>> ends(Class<?> client, Set<?> partitions) {
        Map<Object, CompletableFuture<?>> known = new HashMap<>();
        Object end = create(client.getDeclaredClasses()[0], List.of(END_OFFSET, Errors.NONE));
        partitions.forEach(partition -> known.put(partition, CompletableFuture.completedFuture(end)));
        return known;
    }

    /** Returns whether a class has a public method of that name. */
    static boolean has(Class<?> type, String name) {
        return Arrays.stream(type.getMethods()).anyMatch(method -> method.getName().equals(name));
    }

    /** Calls the method of that name which takes so many arguments. */
    static Object call(Class<?> type, Object target, String name, Object... arguments) {
        Method found = Arrays.stream(type.getMethods())
            .filter(each -> each.getName().equals(name) && each.getParameterCount() == arguments.length)
            .filter(each -> target != null || Modifier.isStatic(each.getModifiers()))
            .findFirst().orElseThrow(() -> new IllegalStateException(type + " has no " + name));
        try {
            found.setAccessible(true);
            for (int place = 0; place < arguments.length; place++) {
                arguments[place] = wrapped(found.getParameterTypes()[place], arguments[place]);
            }
            return found.invoke(target, arguments);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof RuntimeException thrown) {
                throw thrown;
            }
            throw new IllegalStateException(error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Tells a coordinator of new metadata. */
    static void update(Class<?> type, Object coordinator, MetadataImage image, MetadataDelta delta) {
        if (has(type, "onMetadataUpdate")) {
            call(type, coordinator, "onMetadataUpdate", delta, image);
        } else {
            call(type, coordinator, "onNewMetadataImage", image, delta);
        }
    }

    /** Returns the metadata of the cluster as the coordinators of some releases take it. */
    private static Object wrapped(Class<?> type, Object argument) throws ReflectiveOperationException {
        if (!type.getSimpleName().startsWith("CoordinatorMetadata")) {
            return argument;
        }
        Class<?> wrapper = Class.forName(type.getPackageName() + ".KRaft" + type.getSimpleName());
        return wrapper.getConstructors()[0].newInstance(argument);
    }

    /** What an interface's methods do. */
    interface Answers {
        Object answer(String method, Object[] arguments);
    }

    /** Returns an object of an interface. */
    static <T> T standIn(Class<T> type, Answers answers) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, given) ->
            switch (method.getName()) {
                case "hashCode" -> System.identityHashCode(self);
                case "equals" -> self == given[0];
                case "toString" -> type.getSimpleName();
                default -> answers.answer(method.getName(), given == null ? new Object[0] : given);
            }));
    }
}
