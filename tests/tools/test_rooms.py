"""The table of packages: what breaks it is named, and the project does not."""

import pytest

from tools import rooms
from tools.rooms import Room, forbidden, read_rooms, wrong, wrong_in, wrong_names, wrong_spread

ROOMS = {room.name: room for room in read_rooms()}


def test_the_project_keeps_to_its_table() -> None:
    assert wrong() == []


@pytest.mark.parametrize(
    ("package", "source", "found"),
    [
        ("spec", "import impl.state", {"impl"}),
        ("impl", "from spec.record import Record", {"spec"}),
        ("impl", "def lazy():\n    from spec import lag", {"spec"}),
        ("impl", "if TYPE_CHECKING:\n    import spec.lag as lag", {"spec"}),
        ("impl", "importlib.import_module('spec.lag')", {"spec"}),
        ("tools", "_import('tests.lockstep.driver')", {"tests"}),
        ("model", "from spec.lag import lag", {"spec"}),
        ("spec", "from . import lag", {""}),
        ("replay", "import sharespec", {"sharespec"}),
        ("sharespec", "import tests.strategies", {"tests"}),
        ("spec", "import attrs\nfrom model.states import RecordState", set()),
    ],
    ids=str,
)
def test_an_import_that_runs_the_other_way_is_noticed(
    package: str, source: str, found: set[str]
) -> None:
    assert forbidden(ROOMS[package], ROOMS.values(), source) == found


def test_no_room_is_left_out_and_each_imports_only_those_below() -> None:
    below: set[str] = set()
    for room in ROOMS.values():
        assert room.imports <= below
        below.add(room.name)
    packages = {path.parent.name for path in rooms.ROOT.glob("*/__init__.py")}
    assert below == packages


def test_a_room_or_module_that_is_too_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Room("model", "", frozenset(), 10)
    (line,) = wrong_in(small, (small,))
    assert line.startswith("model: ")
    assert line.endswith(" lines; tools/rooms.toml grants 10")
    monkeypatch.setattr(rooms, "MODULE_LINES", 20)
    assert any(line.startswith("model/states.py: ") for line in wrong_in(small, (small,)))


def test_a_class_name_that_stands_twice_is_named() -> None:
    sources = ["class A: ...", "class A: ...\nclass B: ..."]
    assert list(wrong_names(sources)) == ["class A stands 2 times; a name stands once"]


def test_a_rule_that_is_named_in_too_many_files_is_named() -> None:
    texts = ["ONE TWO", "Guard.ONE", "ONE_MORE", "TWO ONE"]
    assert wrong_spread(texts, ["ONE", "TWO"], 3, 2.5) == []
    assert wrong_spread(texts, ["ONE", "TWO"], 2, 2) == [
        "ONE is named in 3 files; at most 2",
        "a rule is named in 2.5 files, as the median; at most 2",
    ]
