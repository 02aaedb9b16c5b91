package sharespec.recorder;

/** Reads and switches a recorder. */
final class Control implements ControlMXBean {
    private final Recorder recorder;
    private final Writer writer;

    Control(Recorder recorder, Writer writer) {
        this.recorder = recorder;
        this.writer = writer;
    }

    @Override
    public boolean isRecording() {
        return recorder.isRecording();
    }

    @Override
    public void setRecording(boolean value) {
        recorder.switchTo(value);
    }

    @Override
    public String getStopped() {
        return recorder.stopped();
    }

    @Override
    public String getFailure() {
        return writer.failure();
    }

    @Override
    public long getWritten() {
        return writer.written();
    }

    @Override
    public long getDropped() {
        return writer.dropped();
    }

    @Override
    public int getWaiting() {
        return recorder.queue().size();
    }

    @Override
    public long getFaults() {
        return recorder.faults();
    }

    @Override
    public String getFirstFault() {
        return recorder.firstFault();
    }
}
