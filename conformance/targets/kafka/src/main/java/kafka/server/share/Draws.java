package kafka.server.share;

import java.util.Random;

/** Random numbers of a stream for one of its users, which a {@link Script} has the same where a part of a run is left out. */
final class Draws extends Random {
    private static final long serialVersionUID = 1L;
    /** The time, where it is not one of before. */
    private static final long NOW = -1;

    private final transient Draws stream;
    private final transient Script script;
    private final String user;
    private final long ms;

    Draws(long seed, Script script, String user) {
        super(seed);
        stream = this;
        this.script = script;
        this.user = user;
        ms = NOW;
    }

    private Draws(Draws stream, String user, long ms) {
        this.stream = stream;
        script = stream.script;
        this.user = user;
        this.ms = ms;
    }

    /** Returns the numbers of this stream for a user, which others do not shift. */
    Draws of(Object whose) {
        return of(whose, ms);
    }

    /** Returns those for what follows from something at a time, whenever it does. */
    Draws of(Object whose, long at) {
        return script.notes() ? new Draws(stream, user + " " + whose, at) : this;
    }

    @Override
    protected int next(int bits) {
        return script.number(user, ms, stream::draw) >>> 32 - bits;
    }

    private int draw() {
        return super.next(32);
    }
}
