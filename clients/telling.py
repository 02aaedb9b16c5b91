"""What an application is told of its acknowledgements: by callbacks, and by results of commits."""

from collections.abc import Iterator

from clients.duties import Duty
from clients.events import Completed, Place, Settings, place_name
from clients.held import FAILED, SUCCEEDED, Fate, Holdings


def told_by_callback(holdings: Holdings, completed: Completed) -> Iterator[tuple[Duty, str]]:
    """Judge what a callback said of acknowledgements."""
    for offset in completed.offsets:
        known = holdings.known(completed.place, offset)
        if completed.error is not None:
            for held in known:
                held.told_failure = held.told_failure or held.fate is not Fate.DONE
            continue
        late = next((held for held in known if held.confirmed), None)
        if late is not None:
            late.confirmed = False
            text = f"a callback tells success of {late.where}, which a commit did before it"
            yield Duty.TOLD_IN_TIME, text
        # What the client gave up by itself, undelivered, it may never tell of.
        untold_first = sorted(known, key=lambda h: (not h.untold, h.delivered is None))
        if any(held.take_success() for held in untold_first):
            continue
        where = f"a callback tells success of {place_name(completed.place)} offset {offset}"
        if any(held.fate in SUCCEEDED and held.renewing for held in known):
            continue  # A renewal that a later acknowledgement replaced is told with that.
        if any(held.fate in SUCCEEDED for held in known):
            yield Duty.SUCCESS_TOLD, f"{where}, which one told before"
        else:
            what = known[-1].fate.value if known else "is of no record that it had"
            yield Duty.REFUSAL_TOLD, f"{where}, whose acknowledgement {what}"


def told_by_commit(
    holdings: Holdings, place: Place, error: str | None, began: int, gone_out: int
) -> Iterator[tuple[Duty, str]]:
    """Judge what a commit returned for a share-partition, by what was sent since it ``began``.

    What was said before ``gone_out`` another call has handed over, whose callback may come later.
    """
    for held in holdings.every():
        if held.named != place:
            continue
        sent = held.sent is not None and held.sent > began and held.due is not None
        renews = error is None and held.renewed is not None and held.renewed > began
        held.announced = held.announced or renews
        if error is None and sent and held.fate is Fate.DONE:
            held.confirmed = held.said >= gone_out and held.untold > held.owed
        elif held.fate in FAILED and error is not None:
            held.told_failure = True
        elif held.fate in FAILED and sent and held.place == place:
            text = f"a commit tells success of {place_name(place)}, where offset {held.offset}"
            yield Duty.REFUSAL_TOLD, f"{text} {held.fate.value}"


def untold(holdings: Holdings, settings: Settings) -> Iterator[tuple[Duty, str]]:
    """Judge of which acknowledgements no callback told the success, after the client has closed.

    An application that listens sets no callback.
    """
    if settings.callbacks and not settings.listens:
        for held in holdings.every():
            if held.untold and held.delivered is not None and not held.told_failure:
                text = f"an acknowledgement of {held.where} succeeded, and no callback told of it"
                yield Duty.SUCCESS_TOLD, text
