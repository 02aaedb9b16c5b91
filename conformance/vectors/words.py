"""Parse steps in words, as in the sources of the vectors."""

import json
import re
from collections.abc import Callable

import attrs

from conformance.cores import asks
from conformance.cores.asks import Answers, Ask
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.operations import AcknowledgementBatch, AlterConfig
from model.states import AcknowledgeType, AcquireMode

_MODES = {"": AcquireMode.RECORD_LIMIT, "whole batches": AcquireMode.BATCH_OPTIMIZED}
_NO_MAXIMUM = 500

_ALLOWED = "a step such as: produce 2, skip 1, 3; m1 fetches at most 2; m1 accepts 0-2; m1 leaves"
_TYPES = {kind.name.lower(): kind.value for kind in AcknowledgeType}
_VERBS = {**{f"{word}s": kind for word, kind in _TYPES.items()}, "acknowledges": None}

Maker = Callable[[re.Match[str], SharePartitionConfig, Answers], Ask]


def ask_in_words(text: str, config: SharePartitionConfig) -> Ask:
    """Return the command of a step. ``config`` is the configuration before it.

    Raises InvalidValueError if the text is not a step.
    """
    step, _, answered = text.partition(" -> ")
    try:
        answers = tuple(ErrorCode[name] for name in answered.split(", ") if name)
        for pattern, maker in _STEPS:
            if match := re.fullmatch(pattern, step):
                ask = maker(match, config, answers)
                if getattr(ask, "answers", ()) == answers:
                    return ask
    except (KeyError, TypeError, ValueError):
        pass  # An unknown word.
    raise InvalidValueError("steps", text, _ALLOWED)


def _produce(match: re.Match[str], _config: SharePartitionConfig, _answers: Answers) -> Ask:
    """``skip 2`` is a gap: two offsets without a record."""
    batches, missing = [], 0
    for part in match[1].split(", "):
        if part.startswith("skip "):
            missing = int(part.removeprefix("skip "))
        else:
            batches.append((missing, int(part)))
            missing = 0
    return asks.CoreProduce(tuple(batches))


def _fetch(match: re.Match[str], _config: SharePartitionConfig, _answers: Answers) -> Ask:
    mode, most = _MODES[match[2] or ""], int(match[3] or _NO_MAXIMUM)
    return asks.CoreFetch(match[1], mode, _NO_MAXIMUM, most, int(match[4] or 1))


def _acknowledge(match: re.Match[str], _config: SharePartitionConfig, answers: Answers) -> Ask:
    kind = _VERBS[match[2]]
    batches = (_batch(part, kind) for part in match[3].split("; "))
    return asks.CoreAcknowledge(match[1], tuple(batches), answers)


def _batch(text: str, kind: int | None) -> AcknowledgementBatch:
    match = re.fullmatch(r"(-?\d+)(?:-(\d+))?((?: \w+)*)", text)
    if match is None:
        raise ValueError(text)
    named = tuple(int(t) if t.isdigit() else _TYPES[t] for t in match[3].split())
    first, types = int(match[1]), named if kind is None else (kind,)
    return AcknowledgementBatch(first, int(match[2] or first), types)


def _altered(match: re.Match[str], config: SharePartitionConfig, _answers: Answers) -> Ask:
    return AlterConfig(attrs.evolve(config, **{match[1]: json.loads(match[2])}))


_STEPS: tuple[tuple[str, Maker], ...] = (
    (r"produce ((?:skip )?\d+(?:, (?:skip )?\d+)*)", _produce),
    (r"an aborted transaction of (\d+)", lambda match, *_: asks.CoreProduceAborted(int(match[1]))),
    (r"(m\d) fetches(?: (whole batches))?(?: at most (\d+))?(?: in (\d+) log batches)?", _fetch),
    (rf"(m\d) ({'|'.join(_VERBS)}) (.+)", _acknowledge),
    (r"(m\d) leaves", lambda match, _, answers: asks.CoreMemberLeaves(match[1], answers)),
    (r"(\d+) ms pass", lambda match, _, answers: asks.CoreAdvanceTime(int(match[1]), answers)),
    (
        r"write (\d+) ends (\w+)",
        lambda match, *_: asks.CoreCompleteWrite(int(match[1]), ErrorCode[match[2]]),
    ),
    (r"the log loses batch (\d+)", lambda match, *_: asks.CoreCompact(int(match[1]))),
    (r"the log start moves by (\d+)", lambda match, *_: asks.CoreAdvanceLogStart(int(match[1]))),
    (r"(\w+) becomes (\w+)", _altered),
    (
        r"dead letter (\d+) ends",
        lambda match, _, answers: asks.CoreFinishDeadLetter(int(match[1]), answers),
    ),
    (r"a new leader", lambda _match, config, _: asks.CoreTakeOver(config)),
)
