package sharespec.recorder;

/** Rows of numbers, [first, last, ...]. */
final class Table implements Value {
    static final Table EMPTY = new Table(1, new long[0]);

    private final int width;
    private final long[] cells;

    Table(int width, long[] cells) {
        this.width = width;
        this.cells = cells;
    }

    boolean isEmpty() {
        return cells.length == 0;
    }

    int rows() {
        return cells.length / width;
    }

    long cell(int row, int column) {
        return cells[row * width + column];
    }

    /** Returns the first columns of each row. */
    Table columns(int count) {
        long[] some = new long[rows() * count];
        for (int at = 0; at < some.length; at++) {
            some[at] = cell(at / count, at % count);
        }
        return new Table(count, some);
    }

    @Override
    public void append(Json out) {
        out.open('[');
        for (int at = 0; at < cells.length; at += width) {
            out.next().open('[');
            for (int column = 0; column < width; column++) {
                out.next().number(cells[at + column]);
            }
            out.close(']');
        }
        out.close(']');
    }

    @Override
    public int bytes() {
        return 32 + 8 * cells.length;
    }

    /** Collects the rows of a table whose length is not known before. */
    static final class Builder {
        private final int width;
        private long[] cells = new long[16];
        private int size;

        Builder(int width) {
            this.width = width;
        }

        Builder add(long first, long last) {
            room(2);
            cells[size++] = first;
            cells[size++] = last;
            return this;
        }

        Builder add(long first, long last, long third) {
            add(first, last);
            room(1);
            cells[size++] = third;
            return this;
        }

        Builder add(long first, long last, long third, long fourth) {
            add(first, last, third);
            room(1);
            cells[size++] = fourth;
            return this;
        }

        private void room(int more) {
            if (size + more > cells.length) {
                cells = java.util.Arrays.copyOf(cells, cells.length * 2);
            }
        }

        Table build() {
            return size == 0 ? EMPTY : new Table(width, java.util.Arrays.copyOf(cells, size));
        }
    }
}
