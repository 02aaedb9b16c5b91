"""The generated parts of a document, each between two markers with its name."""

from collections.abc import Mapping

from model.errors import InvalidValueError


def with_parts(document: str, parts: Mapping[str, str]) -> str:
    """Return the document with each part, by its name, between its two markers.

    Raises InvalidValueError unless the document contains each marker once.
    """
    for name, part in parts.items():
        begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
        if document.count(begin) != 1 or document.count(end) != 1:
            raise InvalidValueError("document", document, f"one {begin} and one {end}")
        before, rest = document.split(begin)
        _old, after = rest.split(end)
        document = f"{before}{begin}\n\n{part}\n\n{end}{after}"
    return document
