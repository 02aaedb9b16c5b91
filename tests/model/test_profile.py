import attrs
import pytest

from model.errors import InvalidValueError
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, PROFILES, profile_named


def test_each_rule_is_a_question_on_which_two_profiles_differ() -> None:
    kip, kafka, draft = (attrs.asdict(p) for p in (KIP, KAFKA, DRAFT_RESOLVED))
    assert [name for name in kip if kip[name] == kafka[name]] == ["in_progress"]
    assert [name for name in kip if kip[name] != draft[name]] == ["name", "in_progress"]


def test_a_profile_is_found_by_its_name() -> None:
    assert profile_named("kip") is KIP
    assert profile_named("kafka") is KAFKA
    assert PROFILES == {"kip": KIP, "kafka": KAFKA, "draft_resolved": DRAFT_RESOLVED}


def test_an_unknown_name_is_refused_and_the_known_names_are_listed() -> None:
    with pytest.raises(
        InvalidValueError, match=r"profile is 'redpanda'; allowed: draft_resolved, kafka"
    ):
        profile_named("redpanda")
