"""The report of a verification for programs: a JSON object a line."""

import json
from collections.abc import Iterator

import attrs

from conformance.campaign import Fault
from conformance.citations import cited
from conformance.report import Report, reproducing


def as_json(report: Report) -> Iterator[str]:
    """Yield a line for each new, unconfirmed and known deviation, what was covered, and the whole.

    ``group`` is the number of the probable cause, from 1; its simplest form comes first.
    """
    for number, group in enumerate(report.groups, start=1):
        for fault in group.forms:
            about = {"group": number, "cause": group.title, "again": reproducing(report, fault)}
            yield json.dumps({"kind": "new", **about, **_plain(report, fault)})
    campaign, coverage = report.campaign, report.coverage
    for fault in campaign.unconfirmed:
        about = {"again": reproducing(report, fault), "in_vain": fault.in_vain}
        yield json.dumps({"kind": "unconfirmed", **about, **_plain(report, fault)})
    for each in report.replayed:
        shows = each.fault is not None
        again = reproducing(report, each.fault, each.known.name) if each.fault else ""
        met = campaign.met.get(each.known.name, 0)
        line = {
            "kind": "known",
            "name": each.known.name,
            "shows": shows,
            "again": again,
            "met": met,
        }
        yield json.dumps(line)
    yield json.dumps(
        {
            "kind": "exercised",
            "met": {item.name: count for item, count in coverage.covered},
            "not_exercised": [item.name for item in coverage.missed],
            "skipped": {item.name: reason for item, reason in coverage.skipped},
            "cannot": report.cannot,
            "bounds": report.bounds,
        }
    )
    yield json.dumps(
        {
            "kind": "summary",
            "verdict": report.verdict.value,
            "reason": report.unknown,
            "causes": len(report.groups),
            "target": attrs.asdict(campaign.hello),
            "sequences": campaign.sequences,
            "unjudged": campaign.unjudged,
            "operations": campaign.steps,
            "seconds": round(campaign.seconds, 3),
            "seed": campaign.seed,
            "asked": campaign.asked,
            "vectors": {
                "played": report.vectors.number,
                "deviate": [fault.deviation.label for fault in report.vectors.faults],
                "skipped": report.vectors.skipped,
            },
            "interrupted": campaign.interrupted,
            "failure": campaign.failure,
        },
        default=lambda error: error.name,
    )


_but_states = attrs.filters.exclude("state")


def _plain(report: Report, fault: Fault[object]) -> dict[str, object]:
    deviation, citation = fault.deviation, cited(fault.deviation)
    return {
        "rule": deviation.label,
        "operation": deviation.operation,
        "broken": deviation.name,
        "difference": deviation.probable_cause,
        "sentence": deviation.sentence,
        "pins": deviation.pins,
        "observed": deviation.recorded,
        "expected": deviation.expected,
        "met": fault.seen,
        "rests_on": attrs.asdict(citation) if citation else None,
        "steps": [attrs.asdict(step, filter=_but_states) for step in fault.steps],
        "sequence": report.kit.plain(fault.sequence),
    }
