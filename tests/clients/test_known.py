from pathlib import Path

import pytest

from clients.duties import Duty
from clients.known import Known, KnownError, covering, read_known
from clients.scripts import Do
from clients.subjects import NAMES, known_of
from tests.clients.controls import EXPLICIT, FIVE, script

SCRIPT = script(EXPLICIT, FIVE, Do.POLL, Do.CUT_FETCH)
AFTER = Known("a", "A", Duty.LEAVES, SCRIPT, frozenset({Do.CUT_FETCH, Do.EVICT}))
ALWAYS = Known("b", "B", Duty.CLOSES, SCRIPT)
ENTRY = """
[[violation]]
name = "a"
title = "A"
duty = "leaves-the-group"
after = ["evict"]
script = '{"steps":[["poll"]]}'
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "known.toml"
    path.write_text(text)
    return path


def test_a_violation_is_known_by_its_duty_and_a_step_of_its_script() -> None:
    known = (AFTER, ALWAYS)
    other = script(EXPLICIT, FIVE, Do.POLL)
    assert covering(known, Duty.LEAVES, SCRIPT) is AFTER
    assert covering(known, Duty.LEAVES, other) is None
    assert covering(known, Duty.CLOSES, other) is ALWAYS
    assert covering(known, Duty.EPOCHS, SCRIPT) is None


def test_a_file_is_read(tmp_path: Path) -> None:
    (known,) = read_known(written(tmp_path, ENTRY))
    assert (known.name, known.duty, known.page) == ("a", Duty.LEAVES, "")
    assert known.after == {Do.EVICT}
    assert known.script.steps == ((Do.POLL, 0),)
    assert read_known(written(tmp_path, "")) == ()


@pytest.mark.parametrize("name", [name for name in NAMES if known_of(name)])
def test_what_is_known_of_a_client_is_explained_where_it_says(name: str) -> None:
    path = known_of(name)
    assert path is not None
    for known in read_known(path):
        page = Path(__file__).parents[2] / known.page
        assert known.duty.value in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("violation = 3", "at most 1,000 tables"),
        ("violation = [3]", "violation 1: it is no table"),
        ("[[violation", "Expected"),
        ("x = " + 5000 * "[", "nested too deep"),
        (ENTRY.replace("name", "nam"), "violation 1: 'nam' is no field; allowed: name, title"),
        (ENTRY.replace('"A"', "3"), "violation 1: title is 3; allowed: a text"),
        (ENTRY.replace('"a"', '""'), "violation 1: name is ''; allowed: a text"),
        (ENTRY.replace("leaves", "likes"), "violation 1: duty is 'likes-the-group'; allowed: "),
        (ENTRY.replace('["evict"]', '"evict"'), "violation 1: after is 'evict'; allowed: a list"),
        (ENTRY.replace('"evict"', "[1]"), r"violation 1: after is \[\[1\]\]; allowed: a list of"),
        (ENTRY.replace("poll", "pull"), r"violation 1: step 0 is \['pull'\]; allowed: "),
        (ENTRY + ENTRY, "a is listed twice"),
    ],
)
def test_what_is_no_known_violation_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(KnownError, match=message) as error:
        read_known(path)
    assert str(error.value).startswith(f"{path}: ")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match="No such file"):
        read_known(tmp_path / "no.toml")
