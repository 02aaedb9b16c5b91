"""A campaign as lines of text or of JSON."""

import json
from collections.abc import Iterator

import attrs

from clients.campaign import Campaign, Shown
from clients.duties import RULES, Duty
from clients.events import Event, Heartbeat
from clients.scripts import as_json

LAST_EVENTS = 12
"""How many events up to a violation are shown, but for heartbeats that change nothing."""


def lines(campaign: Campaign, command: str) -> Iterator[str]:
    """Yield a report for people; ``command`` plays a script again, with the script after it."""
    for shown in campaign.shown:
        violation, rule = shown.violation, RULES[shown.violation.duty]
        yield f"{violation.duty.value}: {violation.text}"
        yield f"  at event {violation.position} of"
        yield f"    {command} --play '{as_json(shown.script)}'"
        yield f"  {rule.source}: “{rule.sentence}”"
        yield "  what happened up to it:"
        yield from (f"    {line}" for line in _last(shown))
        yield ""
    for again in campaign.again:
        known = again.known
        state = f"shows, and in {again.scripts:,} random scripts" if again.shows else "GONE"
        yield f"known, {known.name}: {known.title} ({known.duty.value}; {known.page or 'no page'})"
        yield f"  {state}"
    kept = f"duties violated: {len(campaign.shown)}" if campaign.shown else "no duty violated"
    kept = f"nothing new, {len(campaign.again)} known" if _verdict(campaign) == "known" else kept
    kept += " so far, interrupted" if campaign.interrupted else ""
    yield f"{campaign.client.name}: {kept}; {campaign.runs} scripts, {campaign.events:,} events"
    total = campaign.exercised
    yield (
        f"records delivered: {total.delivered:,}, acknowledged: {total.acknowledged:,}; "
        f"refusals: {total.refused:,}, connections cut: {total.cut:,}"
    )
    yield from _stakes(campaign)
    if campaign.light:
        yield f"unknown: {campaign.light}"
    if campaign.full:
        yield f"{campaign.full} scripts had more events than are kept, and were judged in part"


def _stakes(campaign: Campaign) -> Iterator[str]:
    """Yield how often each duty was at stake: what never was, was not shown to be kept."""
    counts = {d: campaign.stakes[d] for d in Duty if d not in campaign.client.without}
    yield "at stake:"
    yield from (f"{count:9,}  {duty.value}" for duty, count in counts.items() if count)
    if never := [duty.value for duty, count in counts.items() if not count]:
        yield f"never at stake: {', '.join(never)}"


def _last(shown: Shown) -> Iterator[str]:
    upto = list(enumerate(shown.record.events[: shown.violation.position + 1]))
    kept = [(nth, event) for nth, event in upto[:-1] if not _is_usual(event)] + upto[-1:]
    for position, event in kept[-LAST_EVENTS:]:
        yield f"{position:4} {event.at_ms:6} ms  {said(event)}"


def _is_usual(event: Event) -> bool:
    """Whether it is a heartbeat that changes nothing, of which there are many."""
    return isinstance(event, Heartbeat) and event.epoch == event.given > 0


def said(event: Event) -> str:
    """Return an event as text: its kind, and what of it is not as usual."""
    fields = []
    for field in event.__attrs_attrs__:
        value = getattr(event, field.name)
        if field.name not in ("at_ms", "member") and value not in (field.default, (), None):
            fields.append(f"{field.name}={value}")
    text = f"{type(event).__name__.lower()} {' '.join(fields)}"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


_LONGEST = 400


def json_lines(campaign: Campaign) -> Iterator[str]:
    """Yield an object for each violated duty, and one for the whole."""
    for shown in campaign.shown:
        violation, rule = shown.violation, RULES[shown.violation.duty]
        yield json.dumps(
            {
                "duty": violation.duty.value,
                "text": violation.text,
                "event": violation.position,
                "script": json.loads(as_json(shown.script)),
                "sentence": rule.sentence,
                "source": rule.source,
            }
        )
    for again in campaign.again:
        known = again.known
        yield json.dumps(
            {
                "known": known.name,
                "duty": known.duty.value,
                "shows": again.shows,
                "scripts": again.scripts,
                "script": json.loads(as_json(known.script)),
            }
        )
    yield json.dumps(
        {
            "client": campaign.client.name,
            "verdict": _verdict(campaign),
            "runs": campaign.runs,
            "events": campaign.events,
            **attrs.asdict(campaign.exercised),
            "stakes": {duty.value: campaign.stakes[duty] for duty in Duty},
            "full": campaign.full,
            "failure": campaign.failure,
            "reason": campaign.lack or campaign.light,
        }
    )


def _verdict(campaign: Campaign) -> str:
    """Return what was shown; of a client that was given little to do nothing is known.

    Nor is anything of one whose search was interrupted before it showed anything.
    """
    if campaign.shown:
        return "violates"
    if campaign.interrupted:
        return "unknown"
    if campaign.lack:
        return "nothing shown"
    if campaign.light:
        return "unknown"
    if not campaign.again:
        return "no violation"
    return "known" if campaign.is_as_known else "gone"
