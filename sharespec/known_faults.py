"""Divergences that are known: those of released Kafkas by default, others from a file.

The file is one of known deviations, as ``sharespec verify`` has them.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

import conformance
from judge.finding import CRASHED
from model.errors import value_text
from replay.verdict import Divergence, PartitionVerdict, Replay, Verdict, counted, weighed

KAFKA_KNOWN = Path(conformance.__file__).parent / "targets" / "kafka" / "known.toml"
KAFKA_PAGE = "docs/findings/apache-kafka.md"

NO_FAULT = "Not a fault"
"""How the reason of a deviation begins that is none of Apache Kafka."""

_SAME = {"expire": "advance_time", "skip_acquire": "acquire"}
"""Operations of a trace that a target has as another: with a real clock a timer ends locks."""

_SHOWN_BY = {
    "Acknowledge": {"acknowledge"},
    "AdvanceLogStart": {"advance_log_start"},
    "AdvanceTime": {"advance_time", "expire"},
    "Compact": {"compact"},
    "CompleteWrite": {"complete_write"},
    "Fetch": {"acquire"},
    "ProduceAborted": {"archive_aborted"},
    "TakeOver": {"initialize"},
}
"""By which operations a trace shows that it has what a known deviation needs."""


class KnownFaultsError(Exception):
    """A file of known deviations cannot be used; one line."""


@attrs.frozen
class KnownFault:
    """A known deviation: its signature, and which commands came before it. ``page`` explains it.

    With ``is_harmless`` it is no fault, and not reported, where that says so of a divergence.
    """

    name: str
    title: str
    signature: tuple[str, ...]
    reason: str
    needs: frozenset[str] = frozenset()
    page: str = ""
    is_harmless: Callable[[Divergence], bool] | None = None

    @property
    def text(self) -> str:
        """Return the name, the title and the page."""
        return f"{self.name}: {self.title}" + (f"; {self.page}" if self.page else "")

    def explains(self, divergence: Divergence) -> bool:
        """Return whether a divergence looks like this one, and what it needs came before it."""
        rule, operation, *text = divergence.signature
        head = (rule, _SAME.get(operation, operation))
        known = self.signature
        alike = head == (known[0], _SAME.get(known[1], known[1]))
        if alike and rule == CRASHED and text:
            wanted = "".join(known[2:])
            alike = bool(wanted) and text[0].startswith(wanted)
        if alike and self.is_harmless:
            alike = self.is_harmless(divergence)
        before = set(divergence.operations_before)
        return alike and all(_SHOWN_BY.get(need, set()) & before for need in self.needs)


@attrs.frozen
class Sorted:
    """A replay without what is no fault, and what is known of the rest.

    ``faults`` are all that are known, ``gone`` those of a file that no divergence showed; ``known``
    and ``new`` count divergences, ``no_faults`` what is not reported.
    """

    replay: Replay
    faults: tuple[KnownFault, ...]
    gone: tuple[KnownFault, ...]
    known: int
    new: int
    no_faults: int

    def label(self, divergence: Divergence) -> str:
        """Return the name, the title and the page of what a divergence is, if that is known."""
        known = known_of(divergence, self.faults)
        return known.text if known else ""

    def totals(self) -> dict[str, object]:
        """Return the totals, for a line of JSON."""
        gone = [fault.name for fault in self.gone]
        return {"known": self.known, "new": self.new, "no_faults": self.no_faults, "gone": gone}

    def lines(self) -> Iterator[str]:
        """Yield the totals in words."""
        if self.known or self.new:
            yield f"{self.new:,} new divergences, {self.known:,} known ones"
        if self.gone:
            names = ", ".join(each.name for each in self.gone)
            yield f"known, and not shown by this trace: {names}"


def read_known(path: Path, page: str = "") -> tuple[KnownFault, ...]:
    """Return the known deviations of a file. Raises KnownFaultsError."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("deviation", [])
    except RecursionError:
        raise KnownFaultsError(f"{path}: it is nested too deep to be read") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise KnownFaultsError(f"{path}: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(entries, list):
        raise KnownFaultsError(f"{path}: deviation is no list; allowed: [[deviation]] tables")
    return tuple(
        _fault(entry, f"{path}: deviation {n}", page) for n, entry in enumerate(entries, 1)
    )


def _fault(entry: Any, where: str, page: str) -> KnownFault:  # noqa: ANN401 - whatever a file holds
    if not isinstance(entry, Mapping):
        raise KnownFaultsError(f"{where} is no table")
    texts = [_text(entry, name, where) for name in ("name", "reason")]
    signature, needs = (_texts(entry, name, where) for name in ("signature", "needs"))
    if len(signature) < 2:  # noqa: PLR2004 - a rule and an operation
        raise KnownFaultsError(f"{where}: signature is {signature}; allowed: [rule, operation]")
    title = str(entry.get("title", texts[0]))
    return KnownFault(texts[0], title, signature, texts[1], frozenset(needs), page)


def _text(entry: Mapping[str, Any], name: str, where: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value:
        raise KnownFaultsError(f"{where}: {name} is {value_text(value)}; allowed: a text")
    return value


def _texts(entry: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    values = entry.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise KnownFaultsError(f"{where}: {name} is {value_text(values)}; allowed: a list of texts")
    return tuple(values)


def _writes_what_is_lost(divergence: Divergence) -> bool:
    """Return whether nothing is written but records that the start offset has passed.

    Whether it is anything else that differs cannot be told from an event that is cut.
    """
    start = divergence.start_offset_before
    try:
        writes = json.loads(divergence.event)["writes"]
        written = [batch["last"] for write in writes for batch in write["state_batches"]]
    except (LookupError, TypeError, ValueError):
        return False
    is_lost = start is not None and bool(written) and max(written) < start
    return is_lost and divergence.expected == "NONE"


_HARMLESS = {"release-of-lost-records-is-written": _writes_what_is_lost}
"""Deviations of Apache Kafka that are no faults, and by what a trace shows that it is they.

Others are no faults of a core alone, such as with states that no share coordinator answers: in a
trace of a broker the same signature is one.
"""


def default_known(profile: str) -> tuple[KnownFault, ...]:
    """Return what is known of released Kafkas, under the profiles that follow them."""
    if not profile.startswith("kafka"):
        return ()
    faults = read_known(KAFKA_KNOWN, KAFKA_PAGE)
    return tuple(
        attrs.evolve(fault, is_harmless=_HARMLESS.get(fault.name))
        for fault in faults
        if fault.name in _HARMLESS or not fault.reason.startswith(NO_FAULT)
    )


def known_of(divergence: Divergence, faults: Sequence[KnownFault]) -> KnownFault | None:
    """Return the first known deviation that explains a divergence."""
    return next((fault for fault in faults if fault.explains(divergence)), None)


def sorted_out(
    replay: Replay, listed: Sequence[KnownFault], default: Sequence[KnownFault]
) -> Sorted:
    """Return a replay sorted by what is known: ``listed`` in a file, and by ``default``."""
    faults = (*listed, *default)
    verdicts = [_reported(verdict, faults) for verdict in replay.verdicts]
    before = [known_of(d, faults) for v in replay.verdicts for d in v.divergences]
    after = [known_of(d, faults) for v in verdicts for d in v.divergences]
    shown = {each.name for each in before if each}
    known = sum(each is not None for each in after)
    counts = counted(verdicts, list(replay.problems))
    return Sorted(
        attrs.evolve(replay, verdicts=tuple(verdicts), counts=counts),
        faults,
        tuple(fault for fault in listed if fault.name not in shown),
        known,
        len(after) - known,
        len(before) - len(after),
    )


def _reported(verdict: PartitionVerdict, faults: Sequence[KnownFault]) -> PartitionVerdict:
    """Return a verdict without divergences that are no faults.

    Where nothing is checked behind the last of them, it stays: what follows it is not known.
    """
    divergences = tuple(_faults(verdict, faults))
    no_faults = len(verdict.divergences) - len(divergences)
    if not no_faults:
        return verdict
    text = f"{no_faults:,} differences from Kafka that are no faults are not reported"
    reason = "; ".join(filter(None, (verdict.reason, text)))
    changed = attrs.evolve(verdict, reason=reason, divergence=None, more=divergences[1:])
    if divergences:
        return attrs.evolve(changed, divergence=divergences[0])
    is_whole = verdict.problem is None
    left = Verdict.CONFORMS if is_whole else Verdict.UNREADABLE
    return weighed(attrs.evolve(changed, verdict=left))


def _faults(verdict: PartitionVerdict, faults: Sequence[KnownFault]) -> Iterator[Divergence]:
    last = verdict.divergences[-1] if verdict.divergences else None
    is_checked = verdict.checked == verdict.events
    for divergence in verdict.divergences:
        known = known_of(divergence, faults)
        if known is None or not known.is_harmless or (divergence is last and not is_checked):
            yield divergence
