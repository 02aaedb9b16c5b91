"""Every rule that a deviation can name rests on something, and nothing is cited for no rule."""

import pytest

from conformance.citations import CITATIONS, citation_of
from conformance.deviation import CRASHED, UNREADABLE
from judge.follower import DISAGREEMENT
from model.guards import Difference, Guard
from spec.invariants import PARTITION_INVARIANTS, RECORD_INVARIANTS

BROKER = (
    "SESSION_ERROR",
    "FETCH_ERROR",
    "ACKNOWLEDGE_ERROR",
    "DELIVERY_COUNT",
    "ONLY_LOGGED_IS_ACQUIRED",
    "COMMITTED_IS_DELIVERED",
    "ACQUIRED_IS_SENT",
    "ANSWERED_ONCE",
    "SENT_ONCE",
    "UNANSWERED",
    "AVAILABLE_RECORDS_ARE_DELIVERED",
    "LOCK_TIMEOUT",
    "LAG",
)
"""Rules that only the answers of a broker are judged by."""

RULES = (
    *(guard.name for guard in Guard),
    *(difference.name for difference in Difference),
    *(invariant.name for invariant in (*RECORD_INVARIANTS, *PARTITION_INVARIANTS)),
    *BROKER,
    CRASHED,
    UNREADABLE,
    DISAGREEMENT,
)


def test_every_rule_has_its_citation_and_there_are_no_others() -> None:
    assert CITATIONS.keys() == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_citation_names_its_source_and_says_a_sentence(rule: str) -> None:
    citation = CITATIONS[rule]
    assert citation.source.startswith(("KIP-", "KAFKA-", "Apache Kafka, ", "Kafka protocol", "Of "))
    assert citation.says[0].isupper()
    assert citation.says.endswith(".")


def test_a_rule_of_somebody_else_rests_on_nothing_here() -> None:
    assert citation_of("THEIRS") is None
