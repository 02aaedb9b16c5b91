"""Known deviations: what a file may say, and that each is played again."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from conformance.campaign import Fault, Replayed, replayed, unknown
from conformance.commands import plain_commands
from conformance.cores.kafka import KNOWN
from conformance.cores.kit import CORES
from conformance.known import KnownDeviation, KnownError, read_known, read_sequence
from tests.conformance.counters import COUNTER, COUNTERS, Add, Meter
from tests.doubles.small_core import SmallCore

WRONG = SmallCore("does not count redeliveries")


def known(fault: Fault[Any], **changes: object) -> KnownDeviation:
    one = KnownDeviation("n", "t", fault.deviation.signature, "r", fault.sequence)
    return attrs.evolve(one, **changes)  # type: ignore[arg-type] # any field


def written(fault: Fault[Any]) -> str:
    sequence = json.dumps(plain_commands(fault.sequence))
    return (
        f'[[deviation]]\nname = "n"\ntitle = "t"\nreason = "r"\n'
        f"signature = {list(fault.deviation.signature)}\nsequence = '''{sequence}'''\n"
    )


def refused(directory: Path, text: str) -> str:
    """What is said of a file that is no list of known deviations."""
    path = directory / "known.toml"
    path.write_text(text)
    with pytest.raises(KnownError) as error:
        read_known(path, CORES.read)
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[[deviation]]", "[[deviation"), "known.toml: "),
        (('reason = "r"', ""), "deviation 1: reason is None; allowed: a text"),
        (('title = "t"', "title = 3"), "deviation 1: title is 3; allowed: a text"),
        (("[[deviation]]", "deviation = [3]\n[x]"), "deviation 1: it is no table"),
        (("signature = [", "signature = [3, "), "deviation 1: signature is [3, "),
        (
            ('reason = "r"', 'reason = "r"\nodd = 1'),
            "deviation 1: 'odd' is no field; allowed: name",
        ),
        (
            ('reason = "r"', 'reason = "r"\nloses = "time"'),
            "deviation 1: loses is 'time'; allowed: records lost, delivered twice, stuck, wrong",
        ),
        (
            ('reason = "r"', 'reason = "r"\nmended = "4.x"'),
            "deviation 1: mended is '4.x'; allowed: a release, as 4.4.0",
        ),
        (('"Fetch"', '"Fly"'), "deviation 1: "),
        (('"member"', '"a\\nb"'), "(a b)"),
        (("'''[", "'''"), "deviation 1: "),
    ],
    ids=str,
)
def test_an_error_names_file_and_deviation(
    tmp_path: Path, fault: Fault[Any], change: tuple[str, str], said: str
) -> None:
    error = refused(tmp_path, written(fault).replace(*change))
    assert said in error
    assert "\n" not in error


@pytest.mark.parametrize("text", ["deviation = 3", "deviation = {a = 1}", "[deviation]"])
def test_deviations_that_are_no_list_are_one_line(tmp_path: Path, text: str) -> None:
    assert "allowed: at most 10,000 tables, [[deviation" in refused(tmp_path, text)


NAMED = "name = 'n'\nreason = 'r'\nsignature = ['X', 'y']"
DEEP = 100_000 * "[" + 100_000 * "]"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"deviation = {DEEP}", "known.toml: it is"),
        (f"[[deviation]]\n{NAMED}\nsequence = '{DEEP}'", "known.toml: deviation 1: it is"),
    ],
    ids=["file", "sequence"],
)
def test_what_is_nested_too_deep_is_one_line(tmp_path: Path, text: str, place: str) -> None:
    assert refused(tmp_path, text).endswith(f"{place} nested too deep to be read")
    with pytest.raises(KnownError, match="the sequence: it is nested too deep to be read"):
        read_sequence(DEEP, CORES.read)


def test_a_known_deviation_without_a_sequence_is_gone(fault: Fault[Any]) -> None:
    none = attrs.evolve(known(fault), sequence=())
    assert [*replayed(WRONG, WRONG.hello(), (none,), CORES)] == [Replayed(none, None)]


@pytest.mark.parametrize(
    ("mended", "version", "expected"),
    [
        ("4.4.0", "4.3.1", True),
        ("4.4.0", "4.4.0", False),
        ("4.4.0", "4.10.0", False),
        ("4.4.0", "", True),
        ("", "4.4.0", True),
    ],
)
def test_a_release_that_mended_it_is_not_expected_to_have_it(
    fault: Fault[Any], mended: str, version: str, *, expected: bool
) -> None:
    assert known(fault, mended=mended).is_of(version) is expected


def test_names_are_unique(tmp_path: Path, fault: Fault[Any]) -> None:
    assert "n is listed twice" in refused(tmp_path, 2 * written(fault))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match=r"absent\.toml"):
        read_known(tmp_path / "absent.toml", CORES.read)


def test_a_known_deviation_is_replayed(fault: Fault[Any]) -> None:
    (shown,) = replayed(WRONG, WRONG.hello(), [known(fault)], CORES)
    assert shown.fault is not None
    assert shown.fault.deviation == fault.deviation
    right = SmallCore()
    assert next(replayed(right, right.hello(), [known(fault)], CORES)).fault is None
    other = known(fault, signature=("X", "y"))
    assert next(replayed(WRONG, WRONG.hello(), [other], CORES)).fault is None


def test_a_kit_in_real_time_tries_several_times() -> None:
    one = KnownDeviation("n", "t", ("LIMIT", "add"), "r", (Add(20),))
    for tries, shows in ((1, False), (2, True), (3, True)):
        late = Meter(shows=lambda number: number > 0)
        (again,) = replayed(late, COUNTER, [one], attrs.evolve(COUNTERS, tries=tries))
        assert (again.fault is not None) is shows
        assert late.opened == min(tries, 2)


def test_a_known_deviation_matches_signature_and_features(fault: Fault[Any]) -> None:
    assert unknown([fault], [known(fault)]) == []
    assert unknown([fault], [known(fault, needs=frozenset({"Fetch"}))]) == []
    assert unknown([fault], [known(fault, needs=frozenset({"Compact"}))]) == [fault]
    assert unknown([fault], [known(fault, after=frozenset({"Compact", "Fetch"}))]) == []
    assert unknown([fault], [known(fault, after=frozenset({"Compact"}))]) == [fault]
    assert unknown([fault], [known(fault, signature=("X", "y"))]) == [fault]
    for texts, new in ((fault.deviation.probable_cause[-1:], []), (("Fetch",), [fault])):
        other = known(fault, signature=("X", "y"), obscures=frozenset(texts))
        assert unknown([fault], [other]) == new
    assert unknown([fault], []) == [fault]
    vector = attrs.evolve(fault, deviation=attrs.evolve(fault.deviation, vector="some-vector"))
    assert unknown([vector], [known(fault)]) == [vector]
    assert unknown([vector], [known(fault, vectors=frozenset({"some-vector"}))]) == []


def test_known_deviations_of_kafka_can_be_read() -> None:
    listed = read_known(KNOWN, CORES.read)
    assert len(listed) >= 9
    assert all(one.reason and one.cause and one.consequence for one in listed)
