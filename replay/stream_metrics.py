"""What a stream has checked, as metrics in the text format of Prometheus."""

from collections.abc import Iterator
from pathlib import Path

from replay.stream import Batch

_COUNTERS = {
    "checked": "Events that were checked.",
    "late": "Events that were checked before, or follow a later leader.",
    "twice": "Events that are the same as another that waits or came with them.",
    "passed": "Events behind a divergence or missing events, or not in the sample.",
    "unreadable": "Lines and rows that hold no event.",
    "gaps": "Places where events are missing and the check went on.",
}


def metrics_text(batch: Batch, now: float) -> str:
    """Return the metrics after a batch that ended at ``now``, in seconds since 1970."""
    return "".join(f"{line}\n" for line in _lines(batch, now))


def write_metrics(path: Path, batch: Batch, now: float) -> None:
    """Write the metrics, whole or not at all."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(metrics_text(batch, now), encoding="ascii")
    draft.replace(path)


def _lines(batch: Batch, now: float) -> Iterator[str]:
    last, left = batch.summary, batch.left
    for name, text in _COUNTERS.items():
        yield from _metric(_name_of(name), "counter", text, getattr(left.total, name))
    yield from _metric("divergences_total", "counter", "Divergences, one alarm each.", left.alarms)
    diverged = sum(each.divergence is not None for each in left.carried.values())
    yield from _metric("partitions", "gauge", "Share-partitions that are known.", len(left.carried))
    yield from _metric("partitions_diverged", "gauge", "Those that diverged.", diverged)
    text = "Those of which too little could be judged since the watch began."
    yield from _metric("partitions_unknown", "gauge", text, len(left.unknown))
    text = "Events that wait for missing ones."
    yield from _metric("waiting_events", "gauge", text, last.waiting)
    yield from _metric("batch", "gauge", "The number of the last batch.", last.batch)
    rate = last.counts.checked / max(last.seconds, 1e-9)
    text = "Events that the last batch checked in a second."
    yield from _metric("batch_events_per_second", "gauge", text, round(rate, 1))
    if last.lag_seconds is not None:
        text = "From when an event came to its verdict, at most, in the last batch."
        yield from _metric("lag_seconds", "gauge", text, round(last.lag_seconds, 3))
    yield from _metric("last_batch_timestamp_seconds", "gauge", "When it ended.", round(now, 3))


def _name_of(count: str) -> str:
    return "gaps_total" if count == "gaps" else f"events_{count}_total"


def _metric(name: str, kind: str, text: str, value: float) -> Iterator[str]:
    name = f"sharespec_watch_{name}"
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    yield f"{name} {value}"
