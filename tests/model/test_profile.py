from pathlib import Path

import attrs
import pytest

from model.errors import InvalidValueError
from model.profile import (
    DRAFT_RESOLVED,
    KAFKA,
    KAFKA_4_4,
    KIP,
    LAG_RESOLVED,
    PROFILES,
    Profile,
    profile_named,
)

DEFECTS = [name for name in attrs.fields_dict(Profile) if name.startswith("defect_")]


def test_each_rule_is_a_question_on_which_two_profiles_differ() -> None:
    kip, kafka, draft = (attrs.asdict(p) for p in (KIP, KAFKA, DRAFT_RESOLVED))
    same = {name for name in kip if kip[name] == kafka[name]}
    assert same == {"in_progress", "coordinator_counts_complete", *DEFECTS}
    assert [name for name in kip if kip[name] != draft[name]] == ["name", "in_progress"]
    lag = attrs.asdict(LAG_RESOLVED)
    assert [name for name in kip if kip[name] != lag[name]] == [
        "name",
        "coordinator_counts_complete",
    ]


def test_what_renews_although_it_refuses_has_rules_that_do_not() -> None:
    strict = KAFKA.all_or_none
    assert strict == attrs.evolve(KAFKA, renewal_survives_refusal=False)
    assert KIP.all_or_none is None


def test_the_defects_of_kafka_are_in_a_profile_of_their_own() -> None:
    kafka, reproducing = attrs.asdict(KAFKA), attrs.asdict(KAFKA_4_4)
    assert {name for name in kafka if kafka[name] != reproducing[name]} == {"name", *DEFECTS}
    for profile in PROFILES.values():
        shown = {name for name in DEFECTS if getattr(profile, name)}
        assert shown == (set(DEFECTS) if profile is KAFKA_4_4 else set())


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_a_finding(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "findings" / "share-coordinator.md"
    assert f"`{name}`" in page.read_text(encoding="utf-8")


def test_a_profile_is_found_by_its_name() -> None:
    assert profile_named("kip") is KIP
    assert profile_named("kafka") is KAFKA
    assert profile_named("kafka_4_4") is KAFKA_4_4
    assert profile_named("draft_resolved") is DRAFT_RESOLVED
    assert profile_named("lag_resolved") is LAG_RESOLVED
    assert all(profile.name == name for name, profile in PROFILES.items())


def test_an_unknown_name_is_refused_and_the_known_names_are_listed() -> None:
    with pytest.raises(
        InvalidValueError, match=r"profile is 'redpanda'; allowed: draft_resolved, kafka"
    ):
        profile_named("redpanda")
