package kafka.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyByte;
import static org.mockito.ArgumentMatchers.anyDouble;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import kafka.coordinator.transaction.TransactionCoordinator;
import kafka.network.RequestChannel;
import kafka.server.share.SharePartitionManager;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.message.ShareFetchResponseData.AcquiredRecords;
import org.apache.kafka.common.message.ShareFetchResponseData.PartitionData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ShareFetchRequest;
import org.apache.kafka.common.requests.ShareFetchResponse;
import org.apache.kafka.common.requests.ShareRequestMetadata;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.coordinator.share.ShareCoordinator;
import org.apache.kafka.metadata.ConfigRepository;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.network.Request;
import org.apache.kafka.network.metrics.RequestChannelMetrics;
import org.apache.kafka.security.DelegationTokenManager;
import org.apache.kafka.server.ApiVersionManager;
import org.apache.kafka.server.AutoTopicCreationManager;
import org.apache.kafka.server.ClientMetricsManager;
import org.apache.kafka.server.FetchManager;
import org.apache.kafka.server.ForwardingManager;
import org.apache.kafka.server.common.FinalizedFeatures;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ClientRequestQuotaManager;
import org.apache.kafka.server.quota.ControllerMutationQuotaManager;
import org.apache.kafka.server.quota.QuotaFactory.QuotaManagers;
import org.apache.kafka.server.quota.ReplicationQuotaManager;
import org.apache.kafka.server.share.context.ShareSessionContext;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.junit.jupiter.api.Test;
import org.mockito.ArgumentCaptor;

/**
 * A fetch acquires records for a client that is over its quota of bytes. The response leaves them out, and nothing
 * releases them: they stay locked for a member that was not told of them, and count as delivered.
 */
public class KafkaApisThrottledShareFetchTest {
    private static final TopicIdPartition PARTITION = new TopicIdPartition(Uuid.randomUuid(),
        new TopicPartition("topic", 0));

    @Test
    public void testThrottledShareFetchTellsWhatItAcquired() throws Exception {
        assertEquals("0-2", told(1000), "what a client is told that its fetch acquired");
    }

    /** The control, in which the client is below its quota: passes. */
    @Test
    public void testControlWithoutThrottling() throws Exception {
        assertEquals("0-2", told(0), "what a client is told that its fetch acquired");
    }

    /** Returns the offsets that the response to a ShareFetch has acquired, with this throttle time. */
    private static String told(int throttleMs) throws Exception {
        RequestChannel channel = mock(RequestChannel.class);
        ClientQuotaManager fetchQuota = mock(ClientQuotaManager.class);
        when(fetchQuota.maxValueInQuotaWindow(any(), any())).thenReturn(1.0 * Integer.MAX_VALUE);
        when(fetchQuota.maybeRecordAndGetThrottleTimeMs(any(), any(), anyDouble(), anyLong())).thenReturn(throttleMs);
        apis(channel, fetchQuota).handleShareFetchRequest(request());
        ArgumentCaptor<AbstractResponse> response = ArgumentCaptor.forClass(AbstractResponse.class);
        verify(channel).sendResponse(any(), response.capture());
        return ((ShareFetchResponse) response.getValue()).data().responses().stream()
            .flatMap(topic -> topic.partitions().stream()).flatMap(partition -> partition.acquiredRecords().stream())
            .map(acquired -> acquired.firstOffset() + "-" + acquired.lastOffset()).collect(Collectors.joining(", "));
    }

    /** The handler of requests, over a share-partition that gives records 0 to 2 to each fetch. */
    private static KafkaApis apis(RequestChannel channel, ClientQuotaManager fetchQuota) {
        MetadataCache metadata = mock(MetadataCache.class);
        when(metadata.topicIdsToNames()).thenReturn(Map.of(PARTITION.topicId(), PARTITION.topic()));
        when(metadata.contains(PARTITION.topicPartition())).thenReturn(true);
        when(metadata.features()).thenReturn(
            FinalizedFeatures.of(MetadataVersion.latestProduction(), Map.of("share.version", (short) 1), 0));
        SharePartitionManager manager = mock(SharePartitionManager.class);
        when(manager.newContext(any(), any(), any(), any(), anyInt(), any(), any()))
            .thenReturn(new ShareSessionContext(0, List.of(PARTITION)));
        when(manager.fetchMessages(any(), any(), any(), anyByte(), anyInt(), anyInt(), anyInt(), any()))
            .thenReturn(CompletableFuture.completedFuture(Map.of(PARTITION,
                new PartitionData().setRecords(MemoryRecords.EMPTY).setAcquiredRecords(
                    List.of(new AcquiredRecords().setFirstOffset(0).setLastOffset(2).setDeliveryCount((short) 1))))));
        GroupConfigManager groups = mock(GroupConfigManager.class);
        when(groups.groupConfig(any())).thenReturn(Optional.empty());
        KafkaConfig config = mock(KafkaConfig.class);
        when(config.fetchMaxBytes()).thenReturn(Integer.MAX_VALUE);
        when(config.shareGroupConfig()).thenReturn(mock(ShareGroupConfig.class));
        QuotaManagers quotas = new QuotaManagers(fetchQuota, mock(ClientQuotaManager.class),
            mock(ClientRequestQuotaManager.class), mock(ControllerMutationQuotaManager.class),
            mock(ReplicationQuotaManager.class), mock(ReplicationQuotaManager.class), mock(ReplicationQuotaManager.class),
            Optional.empty());
        return new KafkaApis(channel, mock(ForwardingManager.class), mock(ReplicaManager.class),
            mock(GroupCoordinator.class), mock(TransactionCoordinator.class), mock(ShareCoordinator.class),
            mock(AutoTopicCreationManager.class), 0, config, mock(ConfigRepository.class), metadata, new Metrics(),
            scala.Option.empty(), quotas, mock(FetchManager.class), manager, mock(BrokerTopicStats.class), "cluster",
            Time.SYSTEM, mock(DelegationTokenManager.class), mock(ApiVersionManager.class),
            mock(ClientMetricsManager.class), groups);
    }

    private static Request request() throws Exception {
        short version = ApiKeys.SHARE_FETCH.latestVersion();
        ShareFetchRequest fetch = ShareFetchRequest.Builder.forConsumer("group",
            new ShareRequestMetadata(Uuid.randomUuid(), ShareRequestMetadata.INITIAL_EPOCH), 0, 1, 1 << 20, 500,
            500, (byte) 0, false, List.of(PARTITION), List.of(), Map.of()).build(version);
        RequestHeader header = new RequestHeader(ApiKeys.SHARE_FETCH, version, "client", 0);
        RequestContext context = new RequestContext(header, "1", InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS,
            ListenerName.normalised("listener"), SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
        return new Request(0, context, 0, MemoryPool.NONE, fetch.serialize().buffer(),
            mock(RequestChannelMetrics.class), Optional.empty());
    }
}
