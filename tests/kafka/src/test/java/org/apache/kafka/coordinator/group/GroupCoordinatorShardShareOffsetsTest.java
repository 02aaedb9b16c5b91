package org.apache.kafka.coordinator.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.DeleteShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.ShareGroupDescribeResponseData;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ShareGroupHeartbeatResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
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
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a group coordinator makes of the start offsets of a share group and of their durable state. */
public class GroupCoordinatorShardShareOffsetsTest {
    private static final String GROUP = "group";
    private static final Uuid TOPIC = Uuid.randomUuid();
    private static final Uuid WIDE = Uuid.randomUuid();
    private static final int RETRY_MS = 30_000;

    private final Time time = mock(Time.class);
    private MetadataImage image;
    private GroupCoordinatorShard shard;

    /** KAFKA-20910: who has read in the state epoch of before is not fenced. */
    @Test
    public void testAlteringOffsetsRaisesGroupEpoch() {
        join("topic");
        initialized(TOPIC);
        leave();
        int before = described().groupEpoch();
        alter("topic", 0);
        assertTrue(described().groupEpoch() > before, "the group epoch was " + before + " and is "
            + described().groupEpoch() + " after offsets were altered;");
    }

    @Test
    public void testInitializationThatIsTriedAgainHasNoStartOffset() {
        int epoch = join("topic").memberEpoch();
        when(time.milliseconds()).thenReturn((long) RETRY_MS + 1);
        assertEquals(List.of("0 at -1"), initializing(heartbeat(epoch, null)), "what is initialized again");
    }

    /** Partition 1 is added and initialized before the initialization of partition 0 is answered, with an error. */
    @Test
    public void testInitializationThatFailedHasNoStartOffsetOnceTopicGrew() {
        int epoch = join("topic").memberEpoch();
        addPartition();
        epoch = heartbeat(epoch, null).getKey().memberEpoch();
        applied(shard.initializeShareGroupState(GROUP, Map.of(TOPIC, Set.of(1))));
        applied(shard.uninitializeShareGroupState(GROUP, Map.of(TOPIC, Set.of(0))));
        assertEquals(List.of("0 at -1"), initializing(heartbeat(epoch, null)), "what is initialized after an error");
    }

    @Test
    public void testAlteredStartOffsetIsKeptWhenInitializationIsTriedAgain() {
        alter("topic", 0);
        when(time.milliseconds()).thenReturn((long) RETRY_MS + 1);
        assertEquals(List.of("0 at 5"), initializing(heartbeat(0, List.of("topic"))), "what is initialized as altered");
    }

    @Test
    public void testPartitionBesideAlteredOneHasNoStartOffset() {
        alter("wide", 0);
        initialized(WIDE);
        assertEquals(List.of("1 at -1"), initializing(heartbeat(0, List.of("wide"))), "what is initialized beside it");
    }

    @Test
    public void testAlteringPartitionThatDoesNotExistCreatesNoGroup() {
        alter("topic", 2);
        assertEquals(Errors.GROUP_ID_NOT_FOUND, Errors.forCode(described().errorCode()), "the group");
    }

    @Test
    public void testPartitionBelow0IsNotInitialized() {
        assertEquals(List.of(), alter("topic", -1), "what is initialized");
    }

    @Test
    public void testDeletedOffsetsOfGroupWithoutAnyAreAnswered() {
        join("topic that is not there");
        leave();
        assertEquals(List.of("topic UNKNOWN_TOPIC_OR_PARTITION"), delete(), "what is answered of topics");
    }

    /** The share coordinator serves the initialization, and its answer is lost. */
    @Test
    public void testDeletingGroupDeletesStateWhoseInitializationWasAnsweredWithError() {
        join("topic");
        leave();
        applied(shard.uninitializeShareGroupState(GROUP, Map.of(TOPIC, Set.of(0))));
        assertEquals(List.of("0"), deleting(), "whose durable state is deleted with the group");
    }

    /** A share coordinator cannot delete it, nor initialize it again when a member joins. */
    @Test
    public void testDeletingGroupDeletesStateThatCouldNotBeDeletedBefore() {
        join("topic");
        initialized(TOPIC);
        leave();
        deleting();
        join("topic");
        applied(shard.uninitializeShareGroupState(GROUP, Map.of(TOPIC, Set.of(0))));
        leave();
        assertEquals(List.of("0"), deleting(), "whose durable state is deleted at last");
    }

    /** A member joins and leaves while the share coordinators delete. */
    @Test
    public void testGroupIsNotDeletedWithWhatWasInitializedMeanwhile() {
        join("topic");
        initialized(TOPIC);
        leave();
        deleting();
        join("topic");
        initialized(TOPIC);
        leave();
        assertNotEquals(Errors.NONE, deleted(), "the deletion of a group of which one partition is initialized");
    }

    /** The share coordinator initializes it, the group is deleted, and with it the state; then the answer comes. */
    @Test
    public void testLateAnswerIsNoneOfGroupThatCameAgain() {
        join("topic");
        leave();
        deleteGroup();
        int epoch = join("wide").memberEpoch();
        initialized(TOPIC);
        assertEquals(List.of("0 at -1"), initializing(heartbeat(epoch, List.of("topic"))),
            "what is initialized of a topic that the new group subscribes to");
    }

    /** The control, without the error: passes. */
    @Test
    public void testControlDeletingGroupDeletesState() {
        join("topic");
        leave();
        initialized(TOPIC);
        assertEquals(List.of("0"), deleting());
    }

    /** The control, before the time of its initialization is over: passes. */
    @Test
    public void testControlAlteredStartOffsetIsNotTriedAgainAtOnce() {
        alter("topic", 0);
        assertEquals(List.of(), initializing(heartbeat(0, List.of("topic"))));
    }

    /** The control, where nobody joins meanwhile: passes. */
    @Test
    public void testControlGroupIsDeleted() {
        join("topic");
        initialized(TOPIC);
        leave();
        deleting();
        assertEquals(Errors.NONE, deleted());
    }

    /** The control, where nobody joins meanwhile: passes. */
    @Test
    public void testControlDeletionThatFailedIsTriedAgain() {
        join("topic");
        initialized(TOPIC);
        leave();
        deleting();
        assertEquals(List.of("0"), deleting());
    }

    /** The control, without the late answer: passes. */
    @Test
    public void testControlGroupThatCameAgainInitializes() {
        join("topic");
        leave();
        deleteGroup();
        int epoch = join("wide").memberEpoch();
        assertEquals(List.of("0 at -1"), initializing(heartbeat(epoch, List.of("topic"))));
    }

    /** The control, where the topic does not grow: passes. */
    @Test
    public void testControlInitializationThatFailedHasNoStartOffset() {
        int epoch = join("topic").memberEpoch();
        applied(shard.uninitializeShareGroupState(GROUP, Map.of(TOPIC, Set.of(0))));
        assertEquals(List.of("0 at -1"), initializing(heartbeat(epoch, null)));
    }

    /** The control, before the time of the first initialization is over: passes. */
    @Test
    public void testControlInitializationIsNotTriedAgainAtOnce() {
        int epoch = join("topic").memberEpoch();
        assertEquals(List.of(), initializing(heartbeat(epoch, null)));
    }

    /** The control, with a partition that is there: passes. */
    @Test
    public void testControlAlteredPartitionIsInitialized() {
        assertEquals(List.of("0 at 5"), alter("topic", 0));
    }

    /** The control, in a group that has offsets of another topic: passes. */
    @Test
    public void testControlDeletedOffsetsOfGroupWithOthersAreAnswered() {
        join("wide");
        initialized(WIDE);
        leave();
        assertEquals(List.of("topic UNKNOWN_TOPIC_OR_PARTITION"), delete());
    }

    @BeforeEach
    public void setUp() {
        GroupCoordinatorMetrics metrics = mock(GroupCoordinatorMetrics.class);
        when(metrics.newMetricsShard(any(), any())).thenReturn(mock(GroupCoordinatorMetricsShard.class));
        shard = build(metrics);
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        delta.replay(new TopicRecord().setName("topic").setTopicId(TOPIC));
        delta.replay(new TopicRecord().setName("wide").setTopicId(WIDE));
        Stream.of(partition(TOPIC, 0), partition(WIDE, 0), partition(WIDE, 1)).forEach(delta::replay);
        image = delta.apply(MetadataProvenance.EMPTY);
        shard.onLoaded(new KRaftCoordinatorMetadataImage(image));
    }

    private void addPartition() {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        delta.replay(partition(TOPIC, 1));
        image = delta.apply(MetadataProvenance.EMPTY);
        shard.onMetadataUpdate(new KRaftCoordinatorMetadataDelta(delta), new KRaftCoordinatorMetadataImage(image));
    }

    private static PartitionRecord partition(Uuid topic, int index) {
        return new PartitionRecord().setTopicId(topic).setPartitionId(index).setReplicas(List.of(0)).setIsr(List.of(0))
            .setLeader(0);
    }

    @SuppressWarnings("unchecked")
    private GroupCoordinatorShard build(GroupCoordinatorMetrics metrics) {
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(Map.of(
            "group.share.initialize.retry.interval.ms", RETRY_MS, "group.share.assignment.interval.ms", 0));
        LogContext context = new LogContext();
        return (GroupCoordinatorShard) new GroupCoordinatorShard.Builder(config, mock(GroupConfigManager.class))
            .withAuthorizerPlugin(Optional.empty()).withLogContext(context)
            .withSnapshotRegistry(new SnapshotRegistry(context)).withTime(time)
            .withTimer(mock(CoordinatorTimer.class)).withExecutor(mock(CoordinatorExecutor.class))
            .withCoordinatorMetrics(metrics).withTopicPartition(new TopicPartition("__consumer_offsets", 0)).build();
    }

    private ShareGroupHeartbeatResponseData join(String topic) {
        return heartbeat(0, List.of(topic)).getKey();
    }

    private void leave() {
        heartbeat(-1, null);
    }

    private Map.Entry<ShareGroupHeartbeatResponseData, Optional<InitializeShareGroupStateParameters>> heartbeat(
        int epoch, List<String> topics
    ) {
        AuthorizableRequestContext context = mock(AuthorizableRequestContext.class);
        when(context.clientId()).thenReturn("client");
        when(context.clientAddress()).thenReturn(InetAddress.getLoopbackAddress());
        return applied(shard.shareGroupHeartbeat(context, new ShareGroupHeartbeatRequestData().setGroupId(GROUP)
            .setMemberId("m1").setMemberEpoch(epoch).setSubscribedTopicNames(topics)));
    }

    private void initialized(Uuid topic) {
        applied(shard.initializeShareGroupState(GROUP, Map.of(topic, Set.of(0))));
    }

    /** Returns what is initialized. */
    private List<String> alter(String topic, int partition) {
        var part = new AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestPartition()
            .setPartitionIndex(partition).setStartOffset(5);
        var named = new AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopic()
            .setTopicName(topic).setPartitions(List.of(part));
        var topics = new AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopicCollection(
            List.of(named).iterator());
        return parts(applied(shard.alterShareGroupOffsets(GROUP,
            new AlterShareGroupOffsetsRequestData().setGroupId(GROUP).setTopics(topics))).getValue());
    }

    /** Returns what is answered of topics. */
    private List<String> delete() {
        var topic = new DeleteShareGroupOffsetsRequestData.DeleteShareGroupOffsetsRequestTopic().setTopicName("topic");
        return applied(shard.initiateDeleteShareGroupOffsets(GROUP,
                new DeleteShareGroupOffsetsRequestData().setGroupId(GROUP).setTopics(List.of(topic))))
            .errorTopicResponseList().stream()
            .map(answer -> answer.topicName() + " " + Errors.forCode(answer.errorCode())).toList();
    }

    /** Returns the partitions whose durable state is to be deleted before the group is. */
    private List<String> deleting() {
        return applied(shard.sharePartitionDeleteRequests(List.of(GROUP))).values().stream()
            .flatMap(asked -> asked.getKey().groupTopicPartitionData().topicsData().stream())
            .flatMap(topic -> topic.partitions().stream()).map(part -> "" + part.partition()).toList();
    }

    private Errors deleted() {
        return Errors.forCode(applied(shard.deleteGroups(mock(AuthorizableRequestContext.class), List.of(GROUP)))
            .find(GROUP).errorCode());
    }

    private void deleteGroup() {
        deleting();
        deleted();
    }

    private ShareGroupDescribeResponseData.DescribedGroup described() {
        return shard.shareGroupDescribe(List.of(GROUP), Long.MAX_VALUE).get(0);
    }

    private static List<String> initializing(
        Map.Entry<ShareGroupHeartbeatResponseData, Optional<InitializeShareGroupStateParameters>> answer
    ) {
        return answer.getValue().map(GroupCoordinatorShardShareOffsetsTest::parts).orElse(List.of());
    }

    private static List<String> parts(InitializeShareGroupStateParameters parameters) {
        return parameters.groupTopicPartitionData().topicsData().stream().flatMap(topic -> topic.partitions().stream())
            .map(partition -> partition.partition() + " at " + partition.startOffset()).toList();
    }

    private <T> T applied(CoordinatorResult<T, CoordinatorRecord> result) {
        result.records().forEach(record -> shard.replay(0, -1, (short) -1, record));
        return result.response();
    }
}
