"""A broker whose class is altered on purpose: the specification finds it in the trace."""

from pathlib import Path

import pytest

from tests.recorder.account import problems
from tests.recorder.judged import findings
from tests.recorder.released import broker

MIXED = "produce,mixed,stall,sleep,mixed"
HESITANT = "trickle,stall,stall,sleep,sleep,sleep"
"""Members that often acknowledge when their locks are over, and another holds the records."""

RUNS = 6

pytestmark = [pytest.mark.slow, pytest.mark.broker]


@pytest.mark.parametrize(
    ("broken", "words", "names"),
    [
        ("", HESITANT, set()),
        pytest.param("", MIXED, set(), marks=pytest.mark.long),
        pytest.param("count", MIXED, {"ACQUIRED"}, marks=pytest.mark.long),
        pytest.param("endless", MIXED, {"LOCK_ENDS_ON_TIME"}, marks=pytest.mark.long),
        ("anyone", HESITANT, {"ACKNOWLEDGEMENT_JUDGED"}),
    ],
)
def test_a_rule_that_is_broken_is_found(
    tmp_path: Path, broken: str, words: str, names: set[str]
) -> None:
    """A run in which nobody is late shows nothing of a rule for those who are: it is run again."""
    for attempt in range(RUNS):
        with broker(tmp_path / str(attempt), "records=5", broken=broken) as running:
            running.work(words, 25 if words == HESITANT else 15)
            trace = running.recorded()
        assert problems(trace) == []
        assert trace.rows
        found = {finding.name for finding in findings(trace)}
        assert found <= names
        if found == names:
            return
    pytest.fail(f"{RUNS} runs show {found}")
