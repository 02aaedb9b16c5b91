package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestPartition;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopic;
import org.apache.kafka.common.message.AlterShareGroupOffsetsRequestData.AlterShareGroupOffsetsRequestTopicCollection;
import org.apache.kafka.common.message.DeleteShareGroupOffsetsRequestData;
import org.apache.kafka.common.message.DeleteShareGroupOffsetsRequestData.DeleteShareGroupOffsetsRequestTopic;
import org.apache.kafka.common.message.DescribeShareGroupOffsetsRequestData.DescribeShareGroupOffsetsRequestGroup;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;

/** The requests of a group's offsets, which releases before 4.1 do not have. */
final class GroupOffsets {
    private GroupOffsets() { }

    static void apply(
        GroupCoordinatorService service, RequestContext context, JsonNode operation, GroupWorld world, Map<Uuid, String> labels
    ) {
        switch (operation.get("op").asText()) {
            // From here on only since 4.1.
            case "alter_offsets" -> alter(service, context, operation.get("offsets"), world);
            case "delete_offsets" -> delete(service, context, operation.get("topics"), world);
            case "describe_offsets" -> describe(service, context, world, labels);
            // End of what is only since 4.1.
            default -> throw new IllegalArgumentException("unknown operation " + operation);
        }
    }
    // From here on only since 4.1.

    private static void alter(GroupCoordinatorService service, RequestContext context, JsonNode offsets, GroupWorld world) {
        AlterShareGroupOffsetsRequestTopicCollection topics = new AlterShareGroupOffsetsRequestTopicCollection();
        offsets.forEach(each -> {
            String name = each.get(0).asText();
            if (topics.find(name) == null) {
                topics.add(new AlterShareGroupOffsetsRequestTopic().setTopicName(name));
            }
            topics.find(name).partitions().add(new AlterShareGroupOffsetsRequestPartition()
                .setPartitionIndex(each.get(1).asInt()).setStartOffset(each.get(2).asLong()));
        });
        AlterShareGroupOffsetsRequestData request = new AlterShareGroupOffsetsRequestData()
            .setGroupId(GroupWorld.GROUP).setTopics(topics);
        world.answered(service.alterShareGroupOffsets(context, GroupWorld.GROUP, request), (answer, into) -> {
            into.put("status", GroupWorld.name(answer.errorCode()));
            ArrayNode parts = into.putArray("partitions");
            answer.responses().forEach(topic -> topic.partitions().forEach(part -> parts.addArray()
                .add(topic.topicName()).add(part.partitionIndex()).add(GroupWorld.name(part.errorCode()))));
        });
    }

    private static void delete(GroupCoordinatorService service, RequestContext context, JsonNode names, GroupWorld world) {
        List<DeleteShareGroupOffsetsRequestTopic> topics = new ArrayList<>();
        names.forEach(name -> topics.add(new DeleteShareGroupOffsetsRequestTopic().setTopicName(name.asText())));
        DeleteShareGroupOffsetsRequestData request = new DeleteShareGroupOffsetsRequestData()
            .setGroupId(GroupWorld.GROUP).setTopics(topics);
        world.answered(service.deleteShareGroupOffsets(context, request), (answer, into) -> {
            into.put("status", GroupWorld.name(answer.errorCode()));
            ArrayNode parts = into.putArray("topics");
            answer.responses().forEach(topic ->
                parts.addArray().add(topic.topicName()).add(GroupWorld.name(topic.errorCode())));
        });
    }

    private static void describe(
        GroupCoordinatorService service, RequestContext context, GroupWorld world, Map<Uuid, String> labels
    ) {
        DescribeShareGroupOffsetsRequestGroup request = new DescribeShareGroupOffsetsRequestGroup()
            .setGroupId(GroupWorld.GROUP).setTopics(null);
        world.answered(service.describeShareGroupAllOffsets(context, request), (answer, into) -> {
            into.put("status", GroupWorld.name(answer.errorCode()));
            ArrayNode parts = into.putArray("offsets");
            answer.topics().forEach(topic -> topic.partitions().forEach(part -> parts.addArray()
                .add(labels.getOrDefault(topic.topicId(), topic.topicName())).add(part.partitionIndex()).add(part.startOffset())));
        });
    }
    // End of what is only since 4.1.
}
