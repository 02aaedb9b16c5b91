"""The sources of the vectors: what they may say, and that what they name exists."""

import importlib
import re
from pathlib import Path

import pytest

from conformance.vectors.source import CASES, CaseError, cases, read_cases
from model.guards import Guard

DOCS = Path(__file__).parents[3] / "docs"
TEXTS = '[t]\nkip = 932\nsection = "s"\nsays = "x"\n'
VECTOR = """[[vector]]
name = "v"
pins = ["property 1"]
rests_on = "t"
steps = ["produce 1"]
shows = []
"""
ALL = [case for listed in cases().values() for case in listed]


def _numbered(document: str) -> set[str]:
    return set(re.findall(r"^\| (\d+) \|", (DOCS / document).read_text(), re.MULTILINE))


NUMBERS = {"property": _numbered("properties.md"), "decision": _numbered("decisions.md")}


def exists(pin: str) -> bool:
    """Whether the project has a rule of this name."""
    word, _, number = pin.partition(" ")
    if number:
        return number in NUMBERS.get(word, ())
    module, _, function = pin.partition(".")
    if not function:
        return pin in Guard.__members__
    return hasattr(importlib.import_module(f"spec.{module}"), function)


def written(folder: Path, vector: str, texts: str = TEXTS) -> Path:
    (folder / "texts.toml").write_text(texts)
    (folder / "some.toml").write_text(vector)
    return folder


def test_a_source_is_read(tmp_path: Path) -> None:
    (case,) = read_cases(written(tmp_path, VECTOR))["some"]
    assert case.steps == ("a leader begins", "produce 1")
    assert case.rests_on.says == "x"
    assert case.profiles == ("kip", "kafka")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[[vector]]", "[[vector"), "some.toml: "),
        (("shows = []", ""), "some.toml: v: required field missing @ $.shows"),
        (("shows = []", "shows = []\nodd = 1"), "some.toml: v: extra fields found (odd)"),
        (('rests_on = "t"', 'rests_on = "u"'), "some.toml: v: rests_on is 'u', which texts.toml"),
        (("produce 1", "sing"), "some.toml: v: steps is 'sing'; allowed"),
        (("shows = []", "shows = []\nconfig = { speed = 1 }"), "some.toml: v: extra fields found"),
        (("shows = []\n", f"shows = []\n{VECTOR}"), "v is listed twice"),
    ],
    ids=str,
)
def test_an_error_names_file_and_vector(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(CaseError) as error:
        read_cases(written(tmp_path, VECTOR.replace(*change)))
    assert str(error.value).startswith(said)


def test_missing_texts_are_reported(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"texts\.toml: .*No such file"):
        read_cases(tmp_path)


def test_what_a_vector_pins_exists() -> None:
    assert {case.name: pin for case in ALL for pin in case.pins if not exists(pin)} == {}


def test_a_vector_has_a_plain_name_and_shows_something() -> None:
    assert [
        case.name for case in ALL if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case.name)
    ] == []
    assert [case.name for case in ALL if not case.shows] == []


@pytest.mark.parametrize(
    "pin", ["property 0", "decision 999", "theorem 1", "record.dance", "NO_SUCH_GUARD"]
)
def test_an_unknown_rule_is_rejected(pin: str) -> None:
    assert not exists(pin)


def test_every_guard_of_a_choice_is_pinned() -> None:
    """Except those that the kit itself keeps to, and those that many fetches alone can break."""
    pinned = {pin for case in ALL for pin in case.pins}
    kept_by_the_kit = {
        "ANSWER_COMES",
        "CHECKPOINT_IS_THE_STATE",
        "ONLY_COMMITTED_IS_ASKED_FOR",
        "PARTITION_IS_INITIALIZED",
        "WRITE_IS_OUTSTANDING",
    }
    many_fetches = {"RECORD_IS_OFFERED", "FINISHED_LEAVES_FULL_WINDOW"}
    assert set(Guard.__members__) - pinned == kept_by_the_kit | many_fetches


def test_every_text_is_used() -> None:
    used = {case.rests_on.says for case in ALL}
    said = re.findall(r'^says = "(.*)"$', (CASES / "texts.toml").read_text(), re.MULTILINE)
    assert len(said) > 25
    assert set(said) == used
