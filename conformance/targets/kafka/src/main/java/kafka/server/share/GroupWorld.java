package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ShareGroupDescribeResponseData;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

/** A cluster's metadata, its group coordinator and its share coordinators, for one share group. */
final class GroupWorld {
    static final String GROUP = "g";

    private final GroupCoordinatorConfig config;
    private final VirtualTimer timer = new VirtualTimer(1_000_000);
    private final List<MemoryRecords> log = new ArrayList<>();
    private final Map<Uuid, String> labels = new HashMap<>();
    private final Map<String, Uuid> topics = new TreeMap<>();
    private final Map<String, Integer> widths = new TreeMap<>();
    private final StatePersister persister = new StatePersister(labels);
    private final Properties settings = new Properties();
    private MetadataImage image = MetadataImage.EMPTY;
    private GroupNode node;
    private ObjectNode result;
    private int epoch = 1;

    GroupWorld(int maxMembers, int sessionMs, int heartbeatMs) {
        config = GroupCoordinatorConfig.fromProps(Map.of("group.share.max.size", maxMembers,
            "group.share.session.timeout.ms", sessionMs, "group.share.heartbeat.interval.ms", heartbeatMs,
            "group.share.assignment.interval.ms", 0));
        begin();
    }

    ObjectNode apply(JsonNode operation, JsonNode answers) throws Exception {
        ObjectNode reply = JsonLines.JSON.createObjectNode();
        List<String> statuses = new ArrayList<>();
        answers.forEach(status -> statuses.add(status.asText()));
        persister.script(statuses, reply.putArray("calls"));
        result = reply.putObject("result");
        switch (operation.get("op").asText()) {
            case "heartbeat" -> heartbeat(operation);
            case "advance_time" -> settle(operation.get("ms").asLong());
            case "create_topic" -> grow(operation, 0);
            case "add_partitions" -> grow(operation, widths.get(operation.get("topic").asText()));
            case "delete_topic" -> deleteTopic(operation.get("topic").asText());
            case "delete_group" -> answered(node.service.deleteGroups(context(), List.of(GROUP), null),
                (all, into) -> into.put("status", name(all.find(GROUP).errorCode())));
            case "answer" -> persister.answer(operation.get("id").asInt(), operation.get("status").asText());
            case "configure" -> {
                settings.setProperty(GroupNode.HEARTBEAT, operation.get("heartbeat_ms").asText());
                settings.setProperty(GroupNode.SESSION, operation.get("session_ms").asText());
                node.configure(GROUP, settings);
            }
            case "fail_over" -> {
                node.resign();
                begin();
            }
            default -> GroupOffsets.apply(node.service, context(), operation, this, labels);
        }
        settle(0);
        reply.set("group", described());
        return reply;
    }

    private void begin() {
        node = new GroupNode(log, timer, persister, config, epoch++);
        if (!settings.isEmpty()) {
            node.configure(GROUP, settings);
        }
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        node.update(image, delta, List.of());
        node.lead();
    }

    private void settle(long ms) {
        long until = timer.milliseconds() + ms;
        while (timer.runNext(until)) { }
    }

    private void heartbeat(JsonNode operation) {
        ShareGroupHeartbeatRequestData request = new ShareGroupHeartbeatRequestData().setGroupId(GROUP)
            .setMemberId(operation.get("member").asText()).setMemberEpoch(operation.get("epoch").asInt());
        if (operation.get("topics").isArray()) {
            List<String> names = new ArrayList<>();
            operation.get("topics").forEach(topic -> names.add(topic.asText()));
            request.setSubscribedTopicNames(names);
        }
        answered(node.service.shareGroupHeartbeat(context(), request), (answer, into) -> {
            into.put("status", name(answer.errorCode())).put("member_epoch", answer.memberEpoch())
                .put("heartbeat_ms", answer.heartbeatIntervalMs());
            if (answer.assignment() != null) {
                ArrayNode assigned = into.putArray("assignment");
                answer.assignment().topicPartitions().forEach(topic -> add(assigned, topic.topicId(), topic.partitions()));
            }
        });
    }

    private void grow(JsonNode operation, int from) {
        String name = operation.get("topic").asText();
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        if (from == 0) {
            Uuid id = new Uuid(0x1000, labels.size() + 1);
            labels.put(id, operation.get("id").asText());
            topics.put(name, id);
            delta.replay(new TopicRecord().setName(name).setTopicId(id));
        }
        int to = from + operation.get("partitions").asInt();
        IntStream.range(from, to).forEach(index -> delta.replay(new PartitionRecord().setTopicId(topics.get(name))
            .setPartitionId(index).setReplicas(List.of(0)).setIsr(List.of(0)).setLeader(0)));
        widths.put(name, to);
        publish(delta, List.of());
    }

    private void deleteTopic(String name) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        Uuid id = topics.remove(name);
        delta.replay(new RemoveTopicRecord().setTopicId(id));
        persister.forget(id);
        List<TopicPartition> deleted = IntStream.range(0, widths.remove(name))
            .mapToObj(index -> new TopicPartition(name, index)).toList();
        publish(delta, deleted);
    }

    private void publish(MetadataDelta delta, List<TopicPartition> deleted) {
        image = delta.apply(new MetadataProvenance(labels.size(), 0, 0, true));
        node.update(image, delta, deleted);
    }

    private JsonNode described() throws Exception {
        ShareGroupDescribeResponseData.DescribedGroup group =
            node.service.shareGroupDescribe(context(), List.of(GROUP)).get().get(0);
        if (group.errorCode() == Errors.GROUP_ID_NOT_FOUND.code()) {
            return JsonLines.JSON.nullNode();
        }
        ObjectNode plain = JsonLines.JSON.createObjectNode().put("status", name(group.errorCode()))
            .put("epoch", group.groupEpoch()).put("assignment_epoch", group.assignmentEpoch());
        ArrayNode members = plain.putArray("members");
        group.members().forEach(member -> {
            ObjectNode each = members.addObject().put("member", member.memberId()).put("epoch", member.memberEpoch());
            ArrayNode names = each.putArray("topics");
            member.subscribedTopicNames().stream().sorted().forEach(names::add);
            ArrayNode assigned = each.putArray("assignment");
            member.assignment().topicPartitions().forEach(topic -> add(assigned, topic.topicId(), topic.partitions()));
        });
        return plain;
    }

    private void add(ArrayNode assigned, Uuid topic, List<Integer> partitions) {
        partitions.forEach(index -> assigned.addArray().add(labels.getOrDefault(topic, topic.toString())).add(index));
    }

    /** Puts an answer into the result of the operation that brings it, and the status PENDING into this one until then. */
    <R> void answered(CompletableFuture<R> future, BiConsumer<R, ObjectNode> put) {
        result.put("status", "PENDING");
        future.whenComplete((answer, error) -> {
            if (error == null) {
                put.accept(answer, result);
            } else {
                result.put("status", Errors.forException(Errors.maybeUnwrapException(error)).name());
            }
        });
    }

    static String name(short code) {
        return Errors.forCode(code).name();
    }

    static RequestContext context() {
        RequestHeader header = new RequestHeader(
            ApiKeys.SHARE_GROUP_HEARTBEAT, ApiKeys.SHARE_GROUP_HEARTBEAT.latestVersion(true), "client", 0);
        return new RequestContext(header, "1", InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS,
            ListenerName.normalised("L"), SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
    }
}
