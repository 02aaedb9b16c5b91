"""A plan of faults is read as it is written, and refused in one line that names what is wrong."""

from random import Random

import pytest

from conformance.cluster.fault_plan import ALTERED, GROUPS, PlannedFault, drawn_plan, read_plan
from conformance.target import TargetError

PAUSE = '[5000, "pause", {"node": 2, "for_ms": 3000}]'


def test_a_plan_is_sorted_and_empty_lines_are_passed_over() -> None:
    lines = [PAUSE, "", '[100, "reset", {"source": "client", "target": "1"}]']
    assert read_plan(lines, "p", 60) == (
        PlannedFault(100, "reset", {"source": "client", "target": "1"}),
        PlannedFault(5000, "pause", {"node": "2", "for_ms": 3000}),
    )


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("pause", "allowed: [t, fault, arguments], such as"),
        ('{"t": 1}', "allowed: [t, fault, arguments], such as"),
        ('[5000, "pause"]', "allowed: [t, fault, arguments], such as"),
        ("[" * 5000, "p, line 2: "),
        (PAUSE.replace("pause", "explode"), "no fault 'explode'; allowed: pause, kill, isolate"),
        (PAUSE.replace("2", "4"), "no node 4; allowed: 1, 2, 3"),
        (PAUSE.replace("2", "true"), "no node True"),
        (PAUSE.replace("5000", "-1"), "no time in this run, in ms: -1; allowed: 0 to 60,000"),
        (PAUSE.replace("5000", "60001"), "no time in this run, in ms: 60001"),
        (PAUSE.replace("5000", "1.5"), "no time in this run, in ms: 1.5"),
        (PAUSE.replace("3000", '"long"'), "no time in ms 'long'; allowed: 0 to 600,000"),
        (PAUSE.replace('"node": 2, ', ""), "pause has for_ms; needed: node, for_ms"),
        ('[1, "reset", {"source": "5", "target": "1"}]', "no node '5'; allowed: 1, 2, 3, client"),
        ('[1, "reset", {"source": "1", "target": "client"}]', "no node 'client'"),
        ('[1, "move", {"topic": "u", "partition": 0, "node": 1}]', "no topic 'u'"),
        (
            '[1, "move_and_return", {"partition": 3, "cut_ms": 0}]',
            "no partition 3; allowed: 0 to 2",
        ),
        (
            '[1, "delete_records", {"partition": 0, "leave": -1}]',
            "no number of records -1; allowed: 0 to 1,000,000",
        ),
        (
            '[1, "alter", {"setting": "lag", "value": 3}]',
            "no setting 'lag'; allowed: delivery_count",
        ),
        (
            '[1, "alter", {"setting": "delivery_count_limit", "value": 1}]',
            "no delivery_count_limit 1; allowed: 2 to 600,000",
        ),
        (
            '[1, "alter", {"setting": "isolation_level", "value": 1}]',
            "no isolation_level 1; allowed: read_committed, read_uncommitted",
        ),
        (
            '[1, "alter", {"group": "i", "setting": "isolation_level", "value": 1}]',
            "no group 'i'; allowed: g, h",
        ),
        (
            '[1, "alter", {"setting": "delivery_count_limit", "value": "read_committed"}]',
            "no delivery_count_limit 'read_committed'; allowed: 2 to 600,000",
        ),
    ],
)
def test_what_is_wrong_is_named_in_one_line(line: str, wrong: str) -> None:
    with pytest.raises(TargetError) as refused:
        read_plan([PAUSE, line], "p", 60)
    text = str(refused.value)
    assert text.startswith("p, line 2: ")
    assert wrong in text
    assert "\n" not in text


def test_an_alteration_that_names_no_group_is_of_the_first() -> None:
    (fault,) = read_plan(['[1, "alter", {"setting": "delivery_count_limit", "value": 3}]'], "p", 60)
    assert fault.arguments["group"] == GROUPS[0]


@pytest.mark.parametrize("seed", range(20))
def test_a_drawn_plan_is_read_as_it_is_written(seed: int) -> None:
    plan = drawn_plan(Random(seed), 120)  # noqa: S311 - the same each time
    assert read_plan([fault.line() for fault in plan], "p", 120) == plan
    assert plan == drawn_plan(Random(seed), 120)  # noqa: S311 - as above


def test_drawn_plans_leave_a_majority_and_have_every_fault() -> None:
    plans = [drawn_plan(Random(seed), 120) for seed in range(40)]  # noqa: S311 - the same each time
    drawn = {fault.name for plan in plans for fault in plan}
    assert drawn == {
        *("pause", "kill", "isolate", "cut", "delay", "reset", "move", "move_and_return"),
        *("delete_records", "alter"),
    }
    altered = {
        (f.arguments["group"], f.arguments["setting"])
        for p in plans
        for f in p
        if f.name == "alter"
    }
    assert altered == {("h", "isolation_level"), *(("g", setting) for setting in ALTERED)}
    for plan in plans:
        whole_from = 0
        for fault in plan:
            if fault.name in {"pause", "kill", "isolate"}:
                assert fault.ms >= whole_from
                whole_from = fault.ms + int(fault.arguments["for_ms"])
