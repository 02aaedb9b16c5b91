package kafka.server.share;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.clients.LeastLoadedNode;
import org.apache.kafka.clients.RequestCompletionHandler;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;

/**
 * The connections of a node to the others, as the persister uses them, or of a consumer to the nodes. A
 * connection that is reset or whose request times out answers all that it carries as disconnected, whether
 * they had an effect or not.
 */
final class PeerClient implements KafkaClient {
    private static final String CLIENT_ID = "simulated";

    private record Sent(ClientRequest request, RequestHeader header) {}

    /** A connection of a node, or of the member that has this name, to a node. */
    record Connection(Object from, int to, long number) {
        @Override
        public String toString() {
            return from + "-" + to + "-" + number;
        }
    }

    /** What nodes answer, and what becomes of a connection that is lost. */
    interface Far {
        void ask(ClusterNode receiver, Connection connection, AbstractRequest request, Consumer<AbstractResponse> answer);

        default void lost(Connection connection) { }

        default AbstractResponse arrives(AbstractResponse response) {
            return response;
        }
    }

    private final Cluster cluster;
    private final Object owner;
    private final int place;
    private final LongUnaryOperator mayRun;
    private final Far far;
    private final Runnable pump;
    private final Map<Integer, Map<Integer, Sent>> inFlight = new HashMap<>();
    private final Map<Integer, Connection> connections = new HashMap<>();
    private final List<ClientResponse> arrived = new ArrayList<>();
    private int correlation;
    private long connected;

    PeerClient(Cluster cluster, ClusterNode node, Runnable pump) {
        this(cluster, node.id, node.id, node::mayRun, (receiver, connection, request, answer) ->
            receiver.handle(request, answer), pump);
    }

    PeerClient(Cluster cluster, Object owner, int place, LongUnaryOperator mayRun, Far far, Runnable pump) {
        this.cluster = cluster;
        this.owner = owner;
        this.place = place;
        this.mayRun = mayRun;
        this.far = far;
        this.pump = pump;
    }

    @Override
    public ClientRequest newClientRequest(String destination, AbstractRequest.Builder<?> builder, long createdMs,
            boolean expectResponse) {
        return newClientRequest(destination, builder, createdMs, expectResponse, 30_000, null);
    }

    @Override
    public ClientRequest newClientRequest(String destination, AbstractRequest.Builder<?> builder, long createdMs,
            boolean expectResponse, int timeoutMs, RequestCompletionHandler callback) {
        return new ClientRequest(destination, builder, correlation++, CLIENT_ID, createdMs, expectResponse,
            timeoutMs, callback);
    }

    @Override
    public void send(ClientRequest request, long nowMs) {
        int to = Integer.parseInt(request.destination());
        short version = request.requestBuilder().latestAllowedVersion();
        AbstractRequest body = request.requestBuilder().build(version);
        Connection connection = connections.computeIfAbsent(to, k -> new Connection(owner, to, connected++));
        int id = request.correlationId();
        inFlight.computeIfAbsent(to, k -> new LinkedHashMap<>()).put(id, new Sent(request, request.makeHeader(version)));
        ClusterNode receiver = cluster.node(to);
        Network network = cluster.network;
        cluster.clock.after(network.delayMs(connection), network.gate(place, to, receiver::mayRun), () ->
            far.ask(receiver, connection, body, response -> cluster.clock.after(network.delayMs(List.of(connection)),
                network.gate(to, place, mayRun), () -> receive(connection, id, response))));
        cluster.clock.after(request.requestTimeoutMs(), mayRun, () -> {
            if (connection.equals(connections.get(to)) && inFlight.get(to).containsKey(id)) {
                reset(to);
            }
        });
    }

    private void receive(Connection connection, int id, AbstractResponse response) {
        if (!connection.equals(connections.get(connection.to))) {
            return;
        }
        Sent sent = inFlight.get(connection.to).remove(id);
        if (sent != null) {
            arrived.add(response(sent, false, far.arrives(response)));
            pump.run();
        }
    }

    private ClientResponse response(Sent sent, boolean disconnected, AbstractResponse body) {
        return new ClientResponse(sent.header, sent.request.callback(), sent.request.destination(),
            sent.request.createdTimeMs(), cluster.clock.milliseconds(), disconnected, null, null, body);
    }

    /** The connection to a node is lost with all that it carries. */
    void reset(int to) {
        Connection connection = connections.remove(to);
        if (connection != null) {
            far.lost(connection);
        }
        Map<Integer, Sent> lost = inFlight.remove(to);
        if (lost != null && !lost.isEmpty()) {
            lost.values().forEach(sent -> arrived.add(response(sent, true, null)));
            pump.run();
        }
    }

    /** All connections are lost. */
    void resetAll() {
        List.copyOf(connections.keySet()).forEach(this::reset);
    }

    @Override
    public List<ClientResponse> poll(long timeoutMs, long nowMs) {
        List<ClientResponse> taken = List.copyOf(arrived);
        arrived.clear();
        taken.forEach(ClientResponse::onComplete);
        return taken;
    }

    @Override
    public boolean isReady(Node to, long nowMs) {
        return cluster.isReachable(place, to.id());
    }

    @Override
    public boolean ready(Node to, long nowMs) {
        return isReady(to, nowMs);
    }

    @Override
    public boolean connectionFailed(Node to) {
        return !cluster.isReachable(place, to.id());
    }

    @Override
    public void wakeup() {
        pump.run();
    }

    @Override
    public void disconnect(String to) {
        reset(Integer.parseInt(to));
    }

    @Override
    public void close(String to) {
        reset(Integer.parseInt(to));
    }

    @Override
    public int inFlightRequestCount() {
        return inFlight.values().stream().mapToInt(Map::size).sum();
    }

    @Override
    public int inFlightRequestCount(String to) {
        return inFlight.getOrDefault(Integer.parseInt(to), Map.of()).size();
    }

    @Override
    public boolean hasInFlightRequests() {
        return inFlightRequestCount() > 0;
    }

    @Override
    public boolean hasInFlightRequests(String to) {
        return inFlightRequestCount(to) > 0;
    }

    @Override
    public long connectionDelay(Node to, long nowMs) {
        return 0;
    }

    @Override
    public long pollDelayMs(Node to, long nowMs) {
        return 0;
    }

    @Override
    public AuthenticationException authenticationException(Node to) {
        return null;
    }

    @Override
    public LeastLoadedNode leastLoadedNode(long nowMs) {
        return new LeastLoadedNode(cluster.place(Math.max(0, place)), true);
    }

    @Override
    public boolean hasReadyNodes(long nowMs) {
        return true;
    }

    @Override
    public void initiateClose() { }

    @Override
    public boolean active() {
        return true;
    }

    @Override
    public void close() { }
}
