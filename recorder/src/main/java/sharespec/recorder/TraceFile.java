package sharespec.recorder;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.GZIPOutputStream;

/**
 * A file of the trace: gzip members one after another, each of whole lines.
 *
 * <p>So a file can be read while it grows, and what a full disk or a crash cuts is one member.
 */
final class TraceFile implements AutoCloseable {
    private static final int BUFFER = 64 * 1024;

    private final FileChannel channel;
    private long length;

    TraceFile(Path path) throws IOException {
        channel = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    long length() {
        return length;
    }

    /** Adds lines, all of them or none. */
    void add(CharSequence lines) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream(BUFFER);
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed, BUFFER)) {
            gzip.write(lines.toString().getBytes(StandardCharsets.US_ASCII));
        }
        ByteBuffer bytes = ByteBuffer.wrap(packed.toByteArray());
        try {
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            length += bytes.limit();
        } catch (IOException failed) {
            channel.truncate(length);
            throw failed;
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
