"""A share-partition in few words, for tests that follow a story."""

import attrs

from impl.partition import FastSharePartition
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceTime,
    EntryPoint,
    Initialize,
    MarkInProgress,
    Produce,
    ProgressBatch,
)
from model.outcome import Answer, Choice, Outcome
from model.profile import KAFKA, Profile
from model.ranges import OffsetRange, StateBatch
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
ANY = Choice()


def partition(
    *batches: tuple[int, int],
    profile: Profile = KAFKA,
    persisted: tuple[tuple[int, int, int, int], ...] = (),
    told: bool = True,
    **config: int,
) -> FastSharePartition:
    """Return a share-partition that starts at 0 with these batches in its log.

    Unless they are ``told``, nothing is known of the log but its end: it is what fetches read.
    """
    made = FastSharePartition(profile)
    durable = DurableState(
        0, 0, tuple(StateBatch(b[0], b[1], RecordState(b[2]), b[3]) for b in persisted)
    )
    settings = attrs.evolve(SharePartitionConfig(), **config)  # type: ignore[arg-type]
    told = told and bool(batches)
    end = 0 if told or not batches else batches[-1][1] + 1
    made.apply(Initialize(settings, 0, end, durable, log_known=told))
    if told:
        made.apply(Produce(ranges(*batches), batches[-1][1] + 1))
    return made


def ranges(*pairs: tuple[int, int]) -> tuple[OffsetRange, ...]:
    """Return ranges of offsets."""
    return tuple(OffsetRange(first, last) for first, last in pairs)


def fetch(  # noqa: PLR0913 - all that a story may say of it
    made: FastSharePartition,
    member: str,
    *batches: tuple[int, int],
    choice: Choice = ANY,
    limit: int = 500,
    mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED,
    offset: int | None = None,
) -> Outcome:
    """Let a member acquire from what was read: the batches, at the first of them."""
    at = (batches[0][0] if batches else 0) if offset is None else offset
    return made.apply(Acquire(member, mode, 500, limit, at, ranges(*batches)), choice)


def ack(  # noqa: PLR0913 - all that a story may say of it
    made: FastSharePartition,
    member: str,
    *batches: tuple[int, ...],
    answer: ErrorCode = ErrorCode.NONE,
    choice: Choice = ANY,
    entry: EntryPoint = EntryPoint.SHARE_PARTITION,
    seq: int = 0,
) -> Outcome:
    """Let a member acknowledge batches of first, last and types."""
    sent = tuple(AcknowledgementBatch(b[0], b[1], b[2:]) for b in batches)
    return made.apply(Acknowledge(member, sent, entry), choice, (Answer(answer),), seq)


def mark(
    made: FastSharePartition, member: str, *batches: tuple[int, int, int], epoch: int = 0
) -> list[str]:
    """Let a member mark batches of first, last and acquisition number; return the answers."""
    sent = tuple(ProgressBatch(first, last, epoch, number) for first, last, number in batches)
    outcome = made.apply(MarkInProgress(member, sent))
    assert (outcome.status, outcome.writes) == (ErrorCode.NONE, ())
    return [status.name for status in outcome.marked]


def wait(made: FastSharePartition, ms: int, choice: Choice = ANY) -> Outcome:
    """Let time pass."""
    return made.apply(AdvanceTime(ms), choice)


def shown(made: FastSharePartition) -> str:
    """Return the records as text: A0 for AVAILABLE with delivery count 0, ! for pending.

    Q is ACQUIRED, K ACKNOWLEDGED, G ARCHIVING, X ARCHIVED and P IN_PROGRESS.
    """
    letters = {0: "A", 1: "Q", 2: "K", 3: "G", 4: "X", 5: "P"}
    return " ".join(
        f"{r.first}-{r.last}:{letters[r.state]}{r.delivery_count}"
        f"{r.owner or ''}{'!' if r.pending else ''}"
        for r in made.snapshot().records or ()
    )


def written(outcome: Outcome) -> list[tuple[int, int, list[tuple[int, int, int, int]]]]:
    """Return the writes as start offset, delivery complete count and state batches."""
    return [
        (
            w.start_offset,
            w.delivery_complete_count,
            [(b.first, b.last, int(b.state), b.delivery_count) for b in w.state_batches],
        )
        for w in outcome.writes
    ]
