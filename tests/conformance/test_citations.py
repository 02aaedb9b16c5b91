"""Every rule that a deviation can name has a citation, and every citation has a rule."""

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
    "STABLE_IS_DELIVERED",
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


def test_rules_and_citations_match() -> None:
    assert CITATIONS.keys() == set(RULES)


def test_a_citation_names_its_source_and_quotes_a_sentence() -> None:
    sources = ("KIP-", "KAFKA-", "Apache Kafka, ", "Kafka protocol", "Of ")
    wrong = [
        rule
        for rule, citation in CITATIONS.items()
        if not citation.source.startswith(sources)
        or not citation.says[0].isupper()
        or not citation.says.endswith(".")
    ]
    assert wrong == []


def test_an_unknown_rule_has_no_citation() -> None:
    assert citation_of("THEIRS") is None
