"""Faults of a mark at a broker, which the theorems notice."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from model.errors import ErrorCode
from model.share_messages import ShareAcknowledge
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec import mark_request
from spec.share_session import Sessions, begin

REFUSED = "mark_request_is_refused_as_its_session_says"
ANSWERED = "marks_reach_each_share_partition_in_memory"


def at_any_epoch(sessions: Sessions, request: ShareAcknowledge, *rest: Any) -> Any:  # noqa: ANN401 - as the rule
    session = sessions.get((request.group_id, request.member_id))
    if session is not None:
        request = attrs.evolve(request, session_epoch=session.epoch)
    return begin(sessions, request, *rest)


@pytest.mark.parametrize(
    ("rule", "wrong", "theorem"),
    [
        ("begin", at_any_epoch, REFUSED),
        ("FINAL_EPOCH", -9, REFUSED),
        ("locate", lambda *_of: ErrorCode.NONE, ANSWERED),
    ],
)
def test_request_that_is_served_wrongly_is_noticed(
    monkeypatch: pytest.MonkeyPatch, rule: str, wrong: Callable[..., object], theorem: str
) -> None:
    monkeypatch.setattr(mark_request, rule, wrong)
    verdict = prove(theorem_named(f"serve a mark {theorem}")).verdict
    assert verdict is ProofVerdict.REFUTED
