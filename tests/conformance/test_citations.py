"""Every rule that a deviation can name has a citation, and every citation has a rule."""

import inspect

import attrs

from conformance.citations import cited
from conformance.coordinators import group_admin, group_checks, group_judge
from conformance.cores import cause
from conformance.deviation import UNREADABLE, target_finding
from conformance.wire.explain import WireDifference
from judge.finding import CRASHED, Citation
from judge.follower import DISAGREEMENT
from judge.invariants import PARTITION_INVARIANTS, RECORD_INVARIANTS
from model.guards import CoordinatorGuard, Difference, Guard
from model.rules import RULES, VERDICT_RULES, RuleKind

TRANSITIONS = RULES[RuleKind.TRANSITION]
NAMES = (
    *(guard.name for guard in (*Guard, *CoordinatorGuard)),
    *RULES[RuleKind.GROUP],
    *(difference.name for difference in (*Difference, *WireDifference)),
    *(invariant.name for invariant in (*RECORD_INVARIANTS, *PARTITION_INVARIANTS)),
    CRASHED,
    UNREADABLE,
    DISAGREEMENT,
)


def test_rules_and_citations_match() -> None:
    assert VERDICT_RULES.keys() == set(NAMES)


def test_each_rule_of_a_group_is_one_that_its_judge_names() -> None:
    parts = group_admin, group_checks, group_judge
    judge = "".join(map(inspect.getsource, parts))
    assert [rule for rule in RULES[RuleKind.GROUP] if f'"{rule}"' not in judge] == []


def test_a_citation_names_its_source_and_quotes_a_sentence() -> None:
    sources = ("KIP-", "KAFKA-", "Apache Kafka, ", "Kafka protocol", "Of ")
    wrong = [
        name
        for name, rule in {**VERDICT_RULES, **TRANSITIONS}.items()
        if not rule.source.startswith(sources)
        or not rule.says.lstrip("“")[0].isupper()
        or not rule.says.endswith((".", "”"))
    ]
    assert wrong == []


def test_every_transition_has_a_citation() -> None:
    named = {name: value for name, value in vars(cause).items() if name.isupper()}
    said = {v for name, v in named.items() if isinstance(v, str) and not name.startswith("_")}
    assert said == TRANSITIONS.keys()


def test_the_sentence_of_the_vector_comes_before_the_transition_and_the_rule() -> None:
    plain = target_finding("WRITTEN_STATE", "release", "s", "r", "e", before="b")
    rule = VERDICT_RULES["WRITTEN_STATE"]
    assert cited(plain) == Citation(rule.source, rule.says)
    failed = attrs.evolve(plain, cause=(cause.AT_LIMIT, "AVAILABLE instead of ARCHIVED"))
    sentence = cited(failed)
    assert sentence
    assert sentence.source == TRANSITIONS[cause.AT_LIMIT].source
    assert sentence.says.endswith(
        "moves into Archived state and is not eligible for additional delivery attempts."
    )
    own = Citation("KIP-932, In-flight records", "“It is so.”")
    vector = attrs.evolve(failed, vector="v", rests_on=own)
    assert cited(vector) == own


def test_an_unknown_rule_has_no_citation() -> None:
    assert cited(target_finding("THEIRS", "release", "s", "r", "e", before="b")) is None
