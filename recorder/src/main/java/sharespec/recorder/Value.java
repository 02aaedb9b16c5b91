package sharespec.recorder;

/** What a row holds beside numbers, text and flags: it writes itself as JSON. */
interface Value {
    void append(Json out);

    /** Its size in memory, about. */
    int bytes();
}
