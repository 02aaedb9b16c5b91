"""The generated part of a document, between two markers."""

from model.errors import InvalidValueError


def with_part(document: str, begin: str, end: str, part: str) -> str:
    """Return the document with ``part`` between its two markers, replacing the old text.

    Raises InvalidValueError unless the document contains each marker once.
    """
    if document.count(begin) != 1 or document.count(end) != 1:
        raise InvalidValueError("document", document, f"one {begin} and one {end}")
    before, rest = document.split(begin)
    _old, after = rest.split(end)
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"
