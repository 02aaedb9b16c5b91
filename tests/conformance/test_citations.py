"""Every rule that a deviation can name has a citation, and every citation has a rule."""

import attrs

from conformance.citations import CITATIONS, TRANSITIONS, citation_of, cited
from conformance.cores import cause
from conformance.deviation import CRASHED, UNREADABLE, Citation, Deviation
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
    "SENT_AS_WRITTEN",
    "FETCH_WAITS",
    "DESCRIBED",
    "LEADER_EPOCH",
    "ANSWERED_ONCE",
    "SENT_ONCE",
    "UNANSWERED",
    "LEADER_SERVES",
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
        for rule, citation in (CITATIONS | TRANSITIONS).items()
        if not citation.source.startswith(sources)
        or not citation.says[0].isupper()
        or not citation.says.endswith(".")
    ]
    assert wrong == []


def test_every_transition_has_a_citation() -> None:
    names = {value for name, value in vars(cause).items() if name.isupper() and name[0] != "_"}
    assert {name for name in names if isinstance(name, str)} == TRANSITIONS.keys()


def test_the_sentence_of_the_vector_comes_before_the_transition_and_the_rule() -> None:
    plain = Deviation("WRITTEN_STATE", "release", "s", "r", "e", "b")
    assert cited(plain) == CITATIONS["WRITTEN_STATE"]
    failed = attrs.evolve(plain, cause=(cause.AT_LIMIT, "AVAILABLE instead of ARCHIVED"))
    sentence = cited(failed)
    assert sentence == TRANSITIONS[cause.AT_LIMIT]
    assert sentence.says.endswith(
        "moves into Archived state and is not eligible for additional delivery attempts."
    )
    own = Citation("KIP-932, In-flight records", "“It is so.”")
    vector = attrs.evolve(failed, name="v", rule="WRITTEN_STATE", rests_on=own)
    assert cited(vector) == own


def test_an_unknown_rule_has_no_citation() -> None:
    assert citation_of("THEIRS") is None
