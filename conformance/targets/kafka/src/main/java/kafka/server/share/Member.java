package kafka.server.share;

/** A member of the group, as the faults and plants know it. */
interface Member {
    void start();

    /** The member that it is now: another each time it joins. */
    String member();

    /** Leaves, by closing its sessions or without a word, unless it is away, and joins again after a while. */
    void leave(boolean closes, long backAfterMs);

    /** A node was killed: its connections end. */
    default void lost(int node) { }
}
