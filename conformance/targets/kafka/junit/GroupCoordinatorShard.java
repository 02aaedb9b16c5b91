package org.apache.kafka.coordinator.group;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyBoolean;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.DeleteShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.DeleteShareGroupOffsetsResponseData;
import org.apache.kafka.common.message.ShareGroupDescribeResponseData;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ShareGroupHeartbeatResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetricsShard;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.junit.jupiter.api.Test;

    private static final String GROUP = "g";

    /** The ids of all topics that were ever created, by names such as "t0.1". */
    private final Map<String, Uuid> ids = new TreeMap<>();

    private final List<CoordinatorRecord> log = new ArrayList<>();

    /** The member epoch that each member was given last. */
    private final Map<String, Integer> epochs = new HashMap<>();

    /** At which start offsets the last request has share coordinators initialize share-partitions, as "t0.1:0". */
    private final Map<String, Long> initializing = new TreeMap<>();

    /** In which state epochs. */
    private final Map<String, Integer> stateEpochs = new HashMap<>();

    /** What each member was told last that it is assigned, as "t0.1:0". */
    private final Map<String, Set<String>> told = new HashMap<>();

    /** Of which share-partitions the last request has share coordinators delete the state. */
    private final Set<String> deleting = new TreeSet<>();

    /** What the last request is answered of partitions, as "t0:0", or of topics. */
    private final Map<String, Errors> answers = new TreeMap<>();

    /** What the last request is answered. */
    private Errors status = Errors.NONE;

    private MetadataImage image = MetadataImage.EMPTY;

    /** What the shard does later, and when. */
    private final Map<String, Map.Entry<Long, CoordinatorTimer.TimeoutOperation<CoordinatorRecord>>> timeouts = new HashMap<>();

    private long nowMs;

    private GroupCoordinatorConfig config;

    private final GroupConfigManager settings = mock(GroupConfigManager.class);

    private GroupCoordinatorShard shard;

    /** Begins without topics, and with a group of so many members at most. */
    private void open(int maxMembers) {
        config = GroupCoordinatorConfig.fromProps(Map.of("group.share.max.size", maxMembers,
            "group.share.heartbeat.interval.ms", 7_000, "group.share.assignment.interval.ms", 0));
        failOver();
    }

    /** Gives the group a heartbeat interval and a session timeout of its own. */
    private void configure(int heartbeatMs, int sessionMs) {
        when(settings.groupConfig(GROUP)).thenReturn(Optional.of(new GroupConfig(Map.of(
            "share.heartbeat.interval.ms", heartbeatMs, "share.session.timeout.ms", sessionMs))));
    }

    /** Another coordinator replays the log. */
    @SuppressWarnings("unchecked")
    private void failOver() {
        GroupCoordinatorMetrics metrics = mock(GroupCoordinatorMetrics.class);
        when(metrics.newMetricsShard(any(), any())).thenReturn(mock(GroupCoordinatorMetricsShard.class));
        Time time = mock(Time.class);
        when(time.milliseconds()).thenAnswer(call -> nowMs);
        CoordinatorTimer<CoordinatorRecord> timer = mock(CoordinatorTimer.class);
        timeouts.clear();  // with passTime
        doAnswer(call -> timeouts.put(call.getArgument(0), Map.entry(  // with passTime
            nowMs + call.<TimeUnit>getArgument(2).toMillis(call.getArgument(1)), call.getArgument(4))))  // with passTime
            .when(timer).schedule(any(), anyLong(), any(), anyBoolean(), any());  // with passTime
        doAnswer(call -> timeouts.remove(call.<String>getArgument(0))).when(timer).cancel(any());  // with passTime
        LogContext context = new LogContext();
        shard = (GroupCoordinatorShard) new GroupCoordinatorShard.Builder(config, settings)
            .withAuthorizerPlugin(Optional.empty()).withLogContext(context)
            .withSnapshotRegistry(new SnapshotRegistry(context)).withTime(time)
            .withTimer(timer).withExecutor(mock(CoordinatorExecutor.class))
            .withCoordinatorMetrics(metrics).withTopicPartition(new TopicPartition("__consumer_offsets", 0)).build();
        log.forEach(record -> shard.replay(0, -1, (short) -1, record));
        shard.onLoaded(new KRaftCoordinatorMetadataImage(image));
    }

    private void passTime(long ms) {
        long until = nowMs + ms;
        Comparator<Map.Entry<String, Map.Entry<Long, CoordinatorTimer.TimeoutOperation<CoordinatorRecord>>>> byTime =
            Comparator.comparing(timeout -> timeout.getValue().getKey());
        for (var next = timeouts.entrySet().stream().min(byTime); next.isPresent()
            && next.get().getValue().getKey() <= until; next = timeouts.entrySet().stream().min(byTime)) {
            var due = timeouts.remove(next.get().getKey());
            nowMs = due.getKey();
            applied(due.getValue().generateRecords());
        }
        nowMs = until;
    }

    private void createTopic(String name, int partitions) {
        int number = ids.size() + 1;
        ids.put(name + "." + number, new Uuid(1, number));
        change(new TopicRecord().setName(name).setTopicId(new Uuid(1, number)));
        addPartitions(name, partitions);
    }

    private void addPartitions(String name, int partitions) {
        int first = image.topics().getTopic(name).partitions().size();
        change(IntStream.range(first, first + partitions).mapToObj(index -> new PartitionRecord()
            .setTopicId(image.topics().getTopic(name).id()).setPartitionId(index).setReplicas(List.of(0))
            .setIsr(List.of(0)).setLeader(0)).toArray(ApiMessage[]::new));
    }

    private void deleteTopic(String name) {
        Uuid id = image.topics().getTopic(name).id();
        change(new RemoveTopicRecord().setTopicId(id));
        applied(shard.maybeCleanupShareGroupState(Set.of(id)));
    }

    private void change(ApiMessage... records) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        Stream.of(records).forEach(delta::replay);
        image = delta.apply(MetadataProvenance.EMPTY);
        shard.onMetadataUpdate(new KRaftCoordinatorMetadataDelta(delta), new KRaftCoordinatorMetadataImage(image));
    }

    private ShareGroupHeartbeatResponseData join(String member, String... topics) {
        return heartbeat(member, 0, List.of(topics));
    }

    private ShareGroupHeartbeatResponseData subscribe(String member, String... topics) {
        return heartbeat(member, epochs.get(member), List.of(topics));
    }

    private ShareGroupHeartbeatResponseData stay(String member) {
        return heartbeat(member, epochs.get(member), null);
    }

    private ShareGroupHeartbeatResponseData leave(String member) {
        return heartbeat(member, -1, null);
    }

    private ShareGroupHeartbeatResponseData heartbeat(String member, int epoch, List<String> topics) {
        AuthorizableRequestContext context = mock(AuthorizableRequestContext.class);
        when(context.clientId()).thenReturn("client");
        when(context.clientAddress()).thenReturn(InetAddress.getLoopbackAddress());
        var answer = applied(shard.shareGroupHeartbeat(context, new ShareGroupHeartbeatRequestData().setGroupId(GROUP)
            .setMemberId(member).setMemberEpoch(epoch).setSubscribedTopicNames(topics)));
        initializing(answer.getValue().orElse(null));
        epochs.put(member, answer.getKey().memberEpoch());
        told.merge(member, Set.of(), (known, none) -> epoch == 0 ? none : known);  // with told
        if (answer.getKey().assignment() != null) {  // with told
            told.put(member, answer.getKey().assignment().topicPartitions().stream().flatMap(topic ->  // with told
                keys(topic.topicId(), topic.partitions())).collect(Collectors.toCollection(TreeSet::new)));  // with told
        }  // with told
        return answer.getKey();
    }

    /** Alters start offsets, each as "t0:0 at 5". */
    private void alter(String... offsets) {
        var topics = new AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopicCollection();
        Stream.of(offsets).map(offset -> offset.split(":| at ")).forEach(offset -> {
            if (topics.find(offset[0]) == null) {
                topics.add(new AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopic()
                    .setTopicName(offset[0]));
            }
            topics.find(offset[0]).partitions().add(
                new AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestPartition()
                    .setPartitionIndex(Integer.parseInt(offset[1])).setStartOffset(Long.parseLong(offset[2])));
        });
        var answer = applied(shard.alterShareGroupOffsets(GROUP,
            new AlterShareGroupOffsetsRequestData().setGroupId(GROUP).setTopics(topics)));
        initializing(answer.getValue());
        status = Errors.forCode(answer.getKey().errorCode());
        answers.clear();
        answer.getKey().responses().forEach(topic -> topic.partitions().forEach(part ->
            answers.put(topic.topicName() + ":" + part.partitionIndex(), Errors.forCode(part.errorCode()))));
    }

    private void initializing(InitializeShareGroupStateParameters asked) {
        initializing.clear();
        stateEpochs.clear();  // with stateEpochs
        if (asked != null && asked.groupTopicPartitionData() != null) {
            asked.groupTopicPartitionData().topicsData().forEach(topic -> topic.partitions().forEach(part ->
                initializing.put(name(topic.topicId()) + ":" + part.partition(), part.startOffset())));
            asked.groupTopicPartitionData().topicsData().forEach(topic -> topic.partitions().forEach(part ->  // with stateEpochs
                stateEpochs.put(name(topic.topicId()) + ":" + part.partition(), part.stateEpoch())));  // with stateEpochs
        }
    }

    /** Share coordinators have initialized share-partitions, as "t0.1:0". */
    private void initialized(String... keys) {
        applied(shard.initializeShareGroupState(GROUP, partitions(keys)));
    }

    /** Share coordinators have answered the initialization of share-partitions with an error. */
    private void uninitialized(String... keys) {
        applied(shard.uninitializeShareGroupState(GROUP, partitions(keys)));
    }

    /** Has share coordinators delete the state of topics, and {@code deleteOffsets} follows. */
    private void askToDeleteOffsets(String... topics) {
        var answer = applied(shard.initiateDeleteShareGroupOffsets(GROUP,
            new DeleteShareGroupOffsetsRequestData().setGroupId(GROUP).setTopics(Stream.of(topics).map(topic ->
                new DeleteShareGroupOffsetsRequestData.DeleteShareGroupOffsetsRequestTopic().setTopicName(topic)).toList())));
        deleting.clear();
        deleting(answer.deleteStateRequestParameters());
        status = Errors.forCode(answer.topLevelErrorCode());
        answers.clear();
        answered(answer.errorTopicResponseList());
    }

    private void deleteOffsets(String... topics) {
        Map<Uuid, String> names = Stream.of(topics).collect(Collectors.toMap(ids::get, topic -> topic.split("\\.")[0]));
        answered(applied(shard.completeDeleteShareGroupOffsets(GROUP, names, new ArrayList<>())).responses());
    }

    private void answered(List<DeleteShareGroupOffsetsResponseData.DeleteShareGroupOffsetsResponseTopic> topics) {
        Stream.ofNullable(topics).flatMap(List::stream)
            .forEach(topic -> answers.put(topic.topicName(), Errors.forCode(topic.errorCode())));
    }

    /** Has share coordinators delete the state of the group, and {@code deleteGroup} follows. */
    private void askToDeleteGroup() {
        deleting.clear();
        applied(shard.sharePartitionDeleteRequests(List.of(GROUP))).values().forEach(asked -> deleting(asked.getKey()));
    }

    private void deleteGroup() {
        status = Errors.forCode(applied(shard.deleteGroups(mock(AuthorizableRequestContext.class), List.of(GROUP)))
            .find(GROUP).errorCode());
    }

    private void deleting(DeleteShareGroupStateParameters asked) {
        if (asked != null && asked.groupTopicPartitionData() != null) {
            asked.groupTopicPartitionData().topicsData().forEach(topic -> topic.partitions().forEach(part ->
                deleting.add(name(topic.topicId()) + ":" + part.partition())));
        }
    }

    /** The share-partitions whose offsets are described. */
    private Set<String> listed() {
        return shard.initializedShareGroupPartitions(GROUP).entrySet().stream().flatMap(topic ->
            topic.getValue().stream().map(index -> name(topic.getKey()) + ":" + index)).collect(Collectors.toSet());
    }

    private ShareGroupDescribeResponseData.DescribedGroup described() {
        return shard.shareGroupDescribe(List.of(GROUP), Long.MAX_VALUE).get(0);
    }

    private Set<String> members() {
        return described().members().stream().map(member -> member.memberId()).collect(Collectors.toSet());
    }

    private Map<String, Set<String>> subscriptions() {
        return described().members().stream().collect(Collectors.toMap(member -> member.memberId(),
            member -> Set.copyOf(member.subscribedTopicNames())));
    }

    private int memberEpoch(String member) {
        return described().members().stream().filter(known -> known.memberId().equals(member)).findFirst()
            .map(known -> known.memberEpoch()).orElse(-1);
    }

    /** The share-partitions that these members are assigned, or all of them. */
    private Set<String> assigned(String... members) {
        return described().members().stream()
            .filter(member -> members.length == 0 || List.of(members).contains(member.memberId()))
            .flatMap(member -> member.assignment().topicPartitions().stream())
            .flatMap(topic -> keys(topic.topicId(), topic.partitions())).collect(Collectors.toCollection(TreeSet::new));
    }

    private Stream<String> keys(Uuid topic, List<Integer> partitions) {
        return partitions.stream().map(index -> name(topic) + ":" + index);
    }

    /** What a member knows that it is assigned; a topic that is gone goes unsaid. */
    private Set<String> told(String member) {
        return told.get(member).stream().filter(key -> image.topics().getTopic(ids.get(key.split(":")[0])) != null)
            .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The group as it is described, without the order of its parts. */
    private String groupText() {
        return described().groupEpoch() + ", assigned " + described().assignmentEpoch() + ": "
            + described().members().stream().map(member -> member.memberId() + " epoch " + member.memberEpoch() + " of "
                + new TreeSet<>(member.subscribedTopicNames()) + " has " + assigned(member.memberId())).sorted().toList();
    }

    private Map<Uuid, Set<Integer>> partitions(String... keys) {
        return Stream.of(keys).map(key -> key.split(":")).collect(Collectors.groupingBy(key -> ids.get(key[0]),
            Collectors.mapping(key -> Integer.parseInt(key[1]), Collectors.toSet())));
    }

    private String name(Uuid id) {
        return ids.keySet().stream().filter(name -> ids.get(name).equals(id)).findFirst().orElseThrow();
    }

    /** What a request is answered, also where an exception says so. */
    private Errors errorOf(Runnable request) {
        status = Errors.NONE;
        try {
            request.run();
        } catch (RuntimeException refusal) {
            status = Errors.forException(refusal);
        }
        return status;
    }

    private <T> T applied(CoordinatorResult<T, CoordinatorRecord> result) {
        result.records().forEach(record -> {
            shard.replay(0, -1, (short) -1, record);
            log.add(record);
        });
        return result.response();
    }
