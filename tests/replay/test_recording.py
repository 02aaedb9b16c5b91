import json

import pytest

from replay.sources import is_recorded, mark_of
from replay.verdict import Recording

HEADER = b'{"recorder":{"version":"1","kafka":"4.4.0"}}'
TRAILER = b'{"trailer":{"written":5,"dropped":2,"faults":1}}'


def test_a_header_and_a_trailer_are_told_from_rows() -> None:
    assert mark_of(HEADER) == Recording(headers=1)
    for sampling, sampled in (("0.01", 1), (0.5, 1), ("1.0", 0), (None, 0)):
        header = json.dumps({"recorder": {"sampling": sampling}}).encode()
        assert mark_of(header) == Recording(headers=1, sampled=sampled)
    assert mark_of(TRAILER) == Recording(trailers=1, dropped=2, faults=1)
    assert mark_of(b'{"trailer":{"dropped":"many"}}') == Recording(trailers=1)


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"{", b'{"recorder":1}', b'{"recorder":{},"op":"acquire"}', b"\xff"]
)
def test_other_lines_are_neither(line: bytes) -> None:
    assert mark_of(line) is None


def test_the_first_line_says_whether_a_file_is_a_recording(tmp_path: object) -> None:
    path = f"{tmp_path}/t.jsonl"
    for content, recorded in ((HEADER + b"\n{}\n", True), (b"{}\n" + HEADER, False)):
        with open(path, "wb") as file:  # noqa: PTH123 - a path as a task has it
            file.write(content)
        assert is_recorded(path) is recorded
