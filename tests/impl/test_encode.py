import pytest

from impl import layout as at
from impl.encode import (
    Members,
    acknowledgement_of,
    answers_of,
    expiries_of,
    leader_of,
    mark_of,
    or_unset,
    range_rows,
    settings_of,
)
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    EntryPoint,
    Initialize,
    MarkInProgress,
    ProgressBatch,
)
from model.outcome import Answer, Choice, Expiry
from model.snapshot import DurableState
from tests.impl.scenario import ranges


def test_members_keep_their_numbers() -> None:
    members = Members()
    assert [members.number(name) for name in "ababc"] == [0, 1, 0, 1, 2]
    assert [members.name(number) for number in (0, 1, at.NOBODY)] == ["a", "b", None]


def test_ranges_ascend() -> None:
    assert range_rows(ranges((5, 6), (1, 2))).tolist() == [[1, 2], [5, 6]]
    assert range_rows(()).shape == (0, 2)


def test_an_impossible_start_is_not_mistaken_for_none() -> None:
    assert [or_unset(o) for o in (None, -2, -1, 3, 2**80)] == [at.UNSET, -1, -1, 3, 2**63 - 1]


def test_groups_of_expired_locks_are_delimited() -> None:
    groups = (Expiry(ranges((3, 4), (1, 1)), 2), Expiry(()), Expiry(ranges((7, 7))))
    found = expiries_of(Choice(expired=groups))
    assert found.bounds.tolist() == [[0, 2], [2, 2], [2, 3]]
    assert found.ranges.tolist() == [[1, 1], [3, 4], [7, 7]]
    assert found.starts.tolist() == [2, at.UNSET, at.UNSET]
    assert not expiries_of(Choice()).given


@pytest.mark.parametrize(
    ("reset", "number"),
    [
        (AutoOffsetReset.EARLIEST, at.EARLIEST),
        (AutoOffsetReset.LATEST, at.LATEST),
        (AutoOffsetReset.BY_DURATION, at.BY_DURATION),
    ],
)
def test_a_leader_knows_its_reset_strategy(reset: AutoOffsetReset, number: int) -> None:
    config, nothing = SharePartitionConfig(auto_offset_reset=reset), DurableState(-1, -1)
    found = [leader_of(Initialize(config, 0, 0, nothing, 0, offset)) for offset in (None, 0, 7)]
    assert [(leader.settings.reset, leader.reset_offset) for leader in found] == [
        (number, -1),
        (number, 0),
        (number, 7),
    ]


def test_an_acknowledgement_keeps_malformed_values_in_64_bits() -> None:
    batches = (
        AcknowledgementBatch(-7, 2**80, (-1, 0, 4, 5, 2**80)),
        AcknowledgementBatch(3, 2, ()),
    )
    found = acknowledgement_of(Acknowledge("a", batches, EntryPoint.REQUEST), 7)
    assert (found.member, found.is_request) == (7, 1)
    assert found.batches.tolist() == [[-1, 2**63 - 1, 0, 5], [3, 2, 5, 5]]
    assert found.types.tolist() == [5, 0, 4, 5, 5]


def test_answers_have_an_id_or_none() -> None:
    rows = answers_of((Answer(), Answer(ErrorCode.PENDING, 0), Answer(id=4)))
    assert rows[:, 0].tolist() == [-1, 0, 4]
    with pytest.raises(InvalidValueError, match="id is -1"):
        answers_of((Answer(id=-1),))


def test_a_mark_keeps_malformed_values() -> None:
    found = mark_of(MarkInProgress("a", (ProgressBatch(5, -4, 3, -2),)), 7)
    assert (found.member, found.batches.tolist()) == (7, [[5, -4, 3, -2]])
    assert mark_of(MarkInProgress("a", ()), 0).batches.shape == (0, 4)


def test_settings_are_those_that_apply_during_a_leader() -> None:
    config = SharePartitionConfig(
        1,
        2,
        3,
        renew_acknowledge_enable=False,
        dead_letter_queue=True,
        in_progress_staleness_threshold_ms=4,
        in_progress_max_lock_extension_ms=5,
        in_progress_rebalance_grace_ms=6,
        isolation_level=IsolationLevel.READ_COMMITTED,
    )
    assert tuple(settings_of(config)) == (1, 2, 3, 0, 1, 4, 5, 6, 1, at.LATEST)
    assert settings_of(SharePartitionConfig()).committed_only == 0
