package sharespec.recorder;

/** The recorder as JMX shows it. */
public interface ControlMXBean {
    boolean isRecording();

    void setRecording(boolean value);

    /** Why it records nothing any more, or null. */
    String getStopped();

    /** Why nothing is written now, or null. */
    String getFailure();

    long getWritten();

    long getDropped();

    int getWaiting();

    long getFaults();

    String getFirstFault();
}
