package sharespec.recorder;

import java.util.List;

/** The batches of an acknowledgement: [first, last, [types]]. */
record Acknowledgements(List<Batch> batches) implements Value {
    static final byte RENEW = 4;

    record Batch(long first, long last, byte[] types) { }

    boolean renews() {
        for (Batch batch : batches) {
            for (byte type : batch.types) {
                if (type == RENEW) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public void append(Json out) {
        out.open('[');
        for (Batch batch : batches) {
            out.next().open('[').next().number(batch.first).next().number(batch.last).next().open('[');
            for (byte type : batch.types) {
                out.next().number(type);
            }
            out.close(']').close(']');
        }
        out.close(']');
    }

    @Override
    public int bytes() {
        return 32 + batches.stream().mapToInt(batch -> 48 + batch.types.length).sum();
    }
}
