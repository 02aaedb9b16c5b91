"""Where a rule comes from: its sentence, its part of a KIP, and the lines of ``spec`` for it."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import attrs

import judge
import spec
from judge import checkpoint
from model import operations as ops
from model.operation_table import OPERATION_TABLE
from model.rules import VERDICT_RULES
from operations.life import plain_module, rule_text
from spec import (
    aborted,
    acknowledge,
    acquire,
    alter_config,
    dead_letters,
    expire,
    initialize,
    log_start,
    mark_in_progress,
    produce,
    release,
    writes,
)

MAX_PLACES = 8
"""How many places of one rule are listed."""

TRANSITIONS: Mapping[type, Callable[..., Any]] = {
    ops.Initialize: initialize.initialize,
    ops.Produce: produce.produce,
    ops.Acquire: acquire.acquire_records,
    ops.SkipAcquire: acquire.skip_acquire,
    ops.Acknowledge: acknowledge.acknowledge_records,
    ops.MemberLeaves: release.release_member,
    ops.AdvanceTime: expire.advance_time,
    ops.Expire: expire.expire_locks,
    ops.CompleteWrite: writes.complete_write,
    ops.AdvanceLogStart: log_start.advance_log_start,
    ops.ResetOffset: initialize.reset_offset,
    ops.MarkInProgress: mark_in_progress.mark_in_progress,
    ops.FinishDeadLetter: dead_letters.finish_dead_letters,
    ops.AlterConfig: alter_config.alter_config,
    ops.ArchiveAborted: aborted.archive_aborted_records,
    ops.Compact: produce.compact,
    ops.Checkpoint: checkpoint.take_checkpoint,
    ops.Gap: checkpoint.lose_events,
}
"""The transition of ``spec`` for each operation."""


@attrs.frozen
class BrokenRule:
    """A rule that an event breaks. ``places`` are lines of ``spec``, as ``spec/acquire.py:105``."""

    name: str
    sentence: str
    source: str
    says: str
    places: tuple[str, ...]


def broken_rule(name: str, sentence: str, operation: ops.Operation) -> BrokenRule:
    """Return a rule with its source, and where ``spec`` enforces it.

    Of a kind of difference that is the transition that computes what was expected.
    """
    rule, places = VERDICT_RULES[name], tuple(_named(name))[:MAX_PLACES]
    return BrokenRule(name, sentence, rule.source, rule.says, places or (place_of(operation),))


def place_of(operation: ops.Operation) -> str:
    """Return the place of an operation's transition, as ``spec/acquire.py:24``."""
    transition = TRANSITIONS[type(operation)]
    line = inspect.unwrap(transition).__code__.co_firstlineno
    return f"{plain_module(transition).replace('.', '/')}.py:{line}"


def transition_texts() -> dict[str, str]:
    """Return the transition of each operation by its name, with its first sentence."""
    names = {row.operation: row.name for row in OPERATION_TABLE}
    return {names[kind]: rule_text(transition) for kind, transition in TRANSITIONS.items()}


def _named(name: str) -> Iterator[str]:
    """Yield the lines of the rules that name a guard, or an invariant."""
    word = re.compile(rf"(\bGuard\.{re.escape(name)}\b|\"{re.escape(name)}\")")
    for path, lines in _sources():
        for number, line in enumerate(lines, start=1):
            if word.search(line):
                yield f"{path}:{number}"


@cache
def _sources() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the lines of ``spec``, and of what ``judge`` says of its states and of recordings."""
    rules = sorted(files(spec).iterdir(), key=lambda entry: entry.name)
    modules = [("spec", entry) for entry in rules if entry.name.endswith(".py")]
    judged = "checkpoint.py", "invariants.py", "recorder.py"
    modules += [("judge", files(judge) / name) for name in judged]
    return tuple(
        (f"{package}/{entry.name}", tuple(entry.read_text(encoding="utf-8").splitlines()))
        for package, entry in modules
    )
