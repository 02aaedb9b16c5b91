package sharespec.recorder;

/** Builds one line of JSON. */
final class Json {
    private final StringBuilder text = new StringBuilder(1024);
    private boolean first = true;

    Json clear() {
        text.setLength(0);
        first = true;
        return this;
    }

    Json open(char bracket) {
        text.append(bracket);
        first = true;
        return this;
    }

    Json close(char bracket) {
        text.append(bracket);
        first = false;
        return this;
    }

    /** Begins the next element of a list. */
    Json next() {
        if (!first) {
            text.append(',');
        }
        first = false;
        return this;
    }

    /** Begins the next field of an object. */
    Json key(String name) {
        next();
        text.append('"').append(name).append("\":");
        return this;
    }

    Json number(long value) {
        text.append(value);
        return this;
    }

    Json flag(boolean value) {
        text.append(value);
        return this;
    }

    Json nothing() {
        text.append("null");
        return this;
    }

    Json text(String value) {
        if (value == null) {
            return nothing();
        }
        text.append('"');
        for (int at = 0; at < value.length(); at++) {
            char letter = value.charAt(at);
            if (letter == '"' || letter == '\\') {
                text.append('\\').append(letter);
            } else if (letter < ' ' || letter > '~') {
                text.append(String.format("\\u%04x", (int) letter));
            } else {
                text.append(letter);
            }
        }
        text.append('"');
        return this;
    }

    /** Appends null, a number, a flag, text or a Value. */
    Json value(Object value) {
        if (value == null) {
            return nothing();
        } else if (value instanceof Value own) {
            own.append(this);
            return this;
        } else if (value instanceof Boolean flag) {
            return flag(flag);
        } else if (value instanceof Number number) {
            return number(number.longValue());
        }
        return text(value.toString());
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
