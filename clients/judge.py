"""Judging a record: a pure function from what happened to the duties that were violated."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from clients.cause import cause_of, oddity, why_not_left
from clients.duties import RULES, Duty
from clients.events import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    UNREADABLE,
    Acknowledgement,
    Answered,
    Asked,
    Called,
    ClientRecord,
    Compacted,
    Corrupted,
    Cut,
    Deleted,
    Delivered,
    Drained,
    Ended,
    Event,
    Heartbeat,
    Lost,
    Moved,
    Place,
    Returned,
    Settings,
    Waited,
    place_name,
)
from clients.held import FAILED, REPEATABLE, Fate, Held, Holdings, Violation
from clients.leadership import Leadership
from clients.liveness import empty_handed, gaps_kept, starved, too_often, uncommitted, withheld
from clients.membership import REFUSALS, UNHEARD, Membership
from clients.sessions import Session
from clients.telling import told_by_callback, told_by_commit, untold
from clients.throttle import Throttle
from conformance.deviation import target_finding
from conformance.wire.records import value_of
from judge.finding import Citation, Finding
from model.share_messages import INITIAL_EPOCH
from spec.group_membership import LEAVING

MOST_VIOLATIONS = 100
"""How many violations are kept of one duty."""

LONGEST_BATCH = 100_000
"""The offsets of one batch of acknowledgements that are looked at."""

COMMITS = ("commit", "commit_async")
DISCONNECTED, RESTARTED = "its connection ended", "the broker started again"
HUNG_UP = "the broker ended an idle connection"


def judge(record: ClientRecord) -> tuple[Finding, ...]:
    """Return the violations, in order, each with the position of its event as ``seq``.

    What is known only at the end is left out of a full record.
    Memory: a bounded amount for each event and each acquired record.
    """
    judging = _read(record)
    if not record.full:
        judging.end()
    return tuple(judging.violations)


def keeps_back(record: ClientRecord) -> bool:
    """Whether the client was given records that it neither delivered nor released so far."""
    judging = _read(record)
    return bool(withheld(judging.holdings, judging.leadership))


def _read(record: ClientRecord) -> "_Judging":
    judging = _Judging(record.settings)
    for position, event in enumerate(record.events):
        judging.position = position
        judging.take(event)
    return judging


@attrs.define
class _Judging:
    """A record as far as it was read."""

    settings: Settings
    position: int = 0
    holdings: Holdings = attrs.field(factory=Holdings)
    sessions: dict[int, Session] = attrs.field(factory=lambda: defaultdict(Session))
    membership: Membership = attrs.field(factory=Membership)
    leadership: Leadership = attrs.field(factory=Leadership)
    outdated: set[int] = attrs.field(factory=set)
    violations: list[Finding] = attrs.field(factory=list)
    requests: dict[int, tuple[Asked, list[tuple[Held, int]]]] = attrs.field(factory=dict)
    call: Called | None = None
    began: int = 0
    unfinished: list[Held] = attrs.field(factory=list)
    empty_fetches: int = 0
    replaced: int | None = None
    gone_out: int = 0
    failed: int = -1
    closing: bool = False
    closed: bool = False
    is_member: bool = False
    were_cut: set[int] = attrs.field(factory=set)
    times: list[int] = attrs.field(factory=list)

    def take(self, event: Event) -> None:
        """Take note of one event."""
        self.times.append(event.at_ms)
        _TAKES[type(event)](self, event)

    def violated(self, duty: Duty, text: str, about: Held | str = "") -> None:
        """Keep a violation of a record, or with what is odd, unless many of its duty are."""
        if sum(each.name == duty.value for each in self.violations) < MOST_VIOLATIONS:
            rule = RULES[duty]
            found = target_finding(duty.value, "", rule.check, text, "")
            cites = Citation(rule.source, f"“{rule.sentence}”")
            at = self.failed, self.began
            odd = about if isinstance(about, str) else oddity(about, self.holdings, *at)
            cause = cause_of(duty, text, odd)
            found = attrs.evolve(found, seq=self.position, rests_on=cites, cause=cause)
            self.violations.append(found)

    def report(self, violations: Iterator[Violation]) -> None:
        """Keep the violations that another part yields."""
        for each in violations:
            self.violated(*each)

    def hasty(self, throttle: Throttle, what: str, at_ms: int) -> None:
        """Judge what comes although the client was to wait; one that closes is not judged by it."""
        haste = None if self.closing else throttle.haste(what, at_ms)
        if haste is not None:
            self.violated(Duty.THROTTLED, haste)

    def asked(self, event: Asked) -> None:
        """Judge a request: its epoch, what it asks for, and what it acknowledges."""
        self.report(self.leadership.asked(event))
        session = self.sessions[event.broker]
        allowed = session.allowed()
        if event.epoch not in allowed:
            epochs = " or ".join(map(str, sorted(allowed)))
            self.violated(Duty.EPOCHS, f"session epoch {event.epoch}, where {epochs} is due")
        if event.epoch == INITIAL_EPOCH and event.acknowledgements:
            self.violated(Duty.EPOCHS, "a request that opens a session acknowledges records")
        self.hasty(session.throttle, "a request", event.at_ms)
        session.asked(event.number, event.epoch, is_member=not self.membership.refusal)
        self.report(self.membership.identified(event.member, "a request of the share session"))
        if self.membership.refusal:
            self.outdated.add(event.number)
        if event.fetches:
            self.holdings.move_on(self.position, event.broker)
            most = self.settings.max_poll_records
            if event.max_records > most:
                text = f"a fetch asks for {event.max_records} records, max.poll.records is {most}"
                self.violated(Duty.AT_MOST, text)
        if event.renews and not event.says_renewal:
            text = "a request renews without saying so by IsRenewAck, or asks for records with it"
            self.violated(Duty.RENEWED, text)
        batches = event.acknowledgements
        sent = [pair for batch in batches for pair in self._acknowledged(batch, event.broker)]
        for held, given in sent:
            held.sent, held.fate, held.given = self.position, Fate.OPEN, given
            held.owed = held.untold
            held.renewing = max(0, held.renewing - (given == RENEW))
        self.requests[event.number] = (event, sent)

    def _acknowledged(self, batch: Acknowledgement, broker: int) -> Iterator[tuple[Held, int]]:
        """Judge acknowledgements to a broker; yield the acquisitions, each with its type."""
        if not 0 <= batch.last - batch.first < LONGEST_BATCH or not batch.types:
            text = f"a batch of acknowledgements from {batch.first} to {batch.last}"
            self.violated(Duty.HELD, f"{text} of {place_name(batch.place)}")
            return
        for nth, offset in enumerate(range(batch.first, batch.last + 1)):
            given = batch.types[min(nth, len(batch.types) - 1)]
            where = f"{place_name(batch.place)} offset {offset}"
            known = self.holdings.of(batch.place, offset)
            if not known:
                self.violated(Duty.HELD, f"{where} is acknowledged and was never acquired for it")
                continue
            here = self.holdings.given_by(broker, known)
            fitting = next((held for held in here if self._fits(held, given)), None)
            if not here:
                fitting = known[-1]
                text = f"acquired from broker {fitting.broker}, is acknowledged to {broker}"
                self.violated(Duty.OWN_LEADER, f"{where}, {text}")
            if fitting is None:
                known = here[::-1]
                fitting = next((held for held in reversed(known) if held.sent is None), known[-1])
                self._misfit(fitting, given, where)
            elif fitting.has_ended(here):
                text = f"{where}, acquired anew, is acknowledged for a delivery that ended"
                self.violated(Duty.HELD, text)
            yield fitting, given

    def _fits(self, held: Held, given: int) -> bool:
        if held.fate not in REPEATABLE and held.given != RENEW:
            return False
        if given == RENEW and (held.renewing or (self.settings.renews_itself and not held.due)):
            return True
        if held.is_gap:
            may_release = self.closing or held.lost is not None or not self.holdings.is_passed(held)
            return given == GAP or (given == RELEASE and may_release)
        unread = held.is_corrupt and held.delivered is None and given == REJECT
        released = unread or (given == RELEASE and (held.delivered is None or self.closing))
        return held.due == given or (released and held.due in (None, RENEW))

    def _misfit(self, held: Held, given: int, where: str) -> None:
        """Name the duty that an acknowledgement violates."""
        explicit = self.settings.explicit
        if held.fate not in REPEATABLE:
            text = f"{where} is acknowledged again: the one before {held.fate.value}"
            self.violated(Duty.HELD, text, held)
        elif held.is_gap:
            text = f"{where}, which has no record, is acknowledged with type {given}, and not {GAP}"
            self.violated(Duty.GAPS, text, held)
        elif held.due is None:
            had = "the application has" if held.delivered is not None else "was never delivered"
            text = f"{where}, which {had}, is acknowledged with type {given} and nobody said so"
            self.violated(Duty.NOTHING_UNSAID if explicit else Duty.IMPLICIT, text, held)
        else:
            text = f"{where} is acknowledged with type {given}, and not {held.due}"
            self.violated(Duty.AS_SAID if explicit else Duty.IMPLICIT, text)

    def answered(self, event: Answered) -> None:
        """Take note of what an answer gives, and of how acknowledgements fared."""
        request, sent = self.requests.pop(event.number, (None, []))
        broker = request.broker if request else 0
        self.sessions[broker].answered(event.number, event.error)
        self.leadership.answered(broker, event)
        refused = {place for place, _ in event.refused}
        for held, given in sent:
            if given != held.given:
                continue  # Another was sent meanwhile.
            held.fate = Fate.REFUSED if held.place in refused else Fate.DONE
            held.untold += held.fate is Fate.DONE and not event.error
            if event.error:
                held.fate = Fate.REQUEST_REFUSED
                held.renewing += given == RENEW
            elif given == RENEW and held.fate is Fate.DONE:
                held.renew(None if self.settings.renews_itself else self.position)
        self.sessions[broker].throttle.told(event.at_ms, event.throttle_ms)
        lost = self.position if event.number in self.outdated else None
        self.outdated.discard(event.number)
        for granted in event.granted:
            self.holdings.grant(granted, lost, self.position, broker, self.sessions[broker].opened)
        told = event.granted or event.elsewhere
        if request and request.fetches and not request.acknowledgements and not told:
            self.empty_fetches += 1

    def cut(self, event: Cut) -> None:
        """Take note of a connection that was cut in place of an answer."""
        request, sent = self.requests.pop(event.number, (None, []))
        broker = request.broker if request else 0
        self.sessions[broker].cut(event.number)
        self.membership.cut()
        self.outdated.discard(event.number)
        self.were_cut.add(broker)
        for held, given in sent:
            held.fate = Fate.CUT
            held.renewing += given == RENEW  # It may be sent again.

    def moved(self, event: Moved) -> None:
        """Take note of a leader that moved: its successor knows of no acquisition."""
        self.leadership.moved(event)
        self.holdings.lose(self.position, place=event.place)

    def deleted(self, event: Deleted) -> None:
        """Take note of a topic that was deleted, with all that was acquired of it."""
        self.leadership.deleted(event)
        self.holdings.delete(self.position, event)

    def drained(self, event: Drained) -> None:
        """Judge polls that brought nothing to a member for long, and gaps that all has passed."""
        if event.starved_ms and self.is_member:
            self.report(starved(self.holdings, self.leadership, event))
        if not event.starved_ms:
            under_way = any(asked.acknowledgements for asked, _ in self.requests.values())
            kept = gaps_kept(self.holdings, self.leadership, self.began, acknowledging=under_way)
            self.report(kept)

    def lost(self, event: Lost) -> None:
        """Take note that the member holds nothing more.

        A client that ends its own connection while it closes has lost nothing by that.
        """
        if event.why != DISCONNECTED:
            self.holdings.lose(self.position, event.broker)
            if event.why in (RESTARTED, HUNG_UP):  # Connections end next, if there are any.
                self.were_cut.add(event.broker)
                self.sessions[event.broker].disconnected(restarts=event.why == RESTARTED)
                self.membership.cut()
            return
        hung_up = self.closing and event.broker not in self.were_cut
        if not hung_up:
            self.holdings.lose(self.position, event.broker)
        self.were_cut.discard(event.broker)
        self.sessions[event.broker].disconnected(hung_up=hung_up)
        self.membership.cut()

    def beat(self, event: Heartbeat) -> None:
        """Judge a heartbeat, by which the member joins, stays or leaves, or is told it is none.

        Then it gives up what it holds, and what answers to earlier requests still bring.
        """
        self.report(self.membership.take(event))
        throttle = self.membership.throttles[event.broker]
        self.hasty(throttle, "a heartbeat", event.at_ms)
        throttle.told(event.at_ms, event.throttle_ms)
        if event.assigned is not None or event.error in REFUSALS:
            self.leadership.assigned(event.assigned)
        if event.epoch == LEAVING:
            self.is_member = self.is_member and event.error in UNHEARD
        elif event.error in REFUSALS:
            self.is_member = False
            self.holdings.lose(self.position)
            self.outdated |= set(self.requests)
            for session in self.sessions.values():
                session.abandoned = session.given_up = True
        elif not event.error:
            self.is_member = self.is_member or not self.closing

    def waited(self, event: Waited) -> None:
        """Judge that a heartbeat did not come."""
        self.report(self.membership.missed(event.waited_ms))

    def called(self, event: Called) -> None:
        """Take note of what the application says by a call."""
        self.call, self.began, self.empty_fetches = event, self.position, 0
        if event.call == "close":
            self.closing = True
            self.report(self.membership.closes(event.at_ms))
        if event.call == "acknowledge":
            held = self._delivered(event.place, event.offset)
            if held is not None:
                self.replaced, held.due, held.said = held.due, event.type, self.position
                held.renewing += event.type == RENEW
        elif event.call in ("poll", *COMMITS):
            waiting = [held for held in self.holdings.every() if held.waits]
            self.unfinished = [h for h in waiting if h.lost is None and h.renewed is None]
            for held in waiting if not self.settings.explicit else ():
                held.due, held.said = ACCEPT, self.position
            if event.call != "commit":  # What was said before goes out with it, whoever waits.
                self.gone_out = self.position + 1

    def _delivered(self, place: Place, offset: int) -> Held | None:
        known = reversed(self.holdings.known(place, offset))
        return next((held for held in known if held.delivered is not None), None)

    def returned(self, event: Returned) -> None:
        """Judge what a call returned."""
        if event.call == "poll":
            self._polled(event)
        elif event.call == "close":
            self.closed = event.error is None
        elif event.call == "acknowledge" and event.error is not None and self.call is not None:
            self._unacknowledged(self._delivered(self.call.place, self.call.offset))
        for completed in event.completed:
            self.report(told_by_callback(self.holdings, completed))
        for place, error in event.results:
            told = told_by_commit(self.holdings, place, error, self.began, self.gone_out)
            self.report(told)
        if event.call == "commit" and self.call is not None:
            waited_ms = None if event.error is None else event.at_ms - self.call.at_ms
            self.report(uncommitted(self.holdings, waited_ms))
        if event.error is not None and event.call in COMMITS:
            for held in self.holdings.every():
                held.told_failure = held.told_failure or held.fate in (*FAILED, Fate.OPEN)

    def _unacknowledged(self, held: Held | None) -> None:
        """Take back what an acknowledgement said that failed as it was called."""
        if held is None:
            return
        held.renewing -= held.due == RENEW and held.renewing > 0
        held.due = self.replaced
        if held.is_kept_back:
            text = f"{held.where} was renewed, no poll returns it, and it cannot be acknowledged"
            self.violated(Duty.RENEWED, text)
            held.lost = self.position

    def _polled(self, event: Returned) -> None:
        explicit, most = self.settings.explicit, self.settings.max_poll_records
        if explicit and self.unfinished and event.error is None:
            text = f"{self.unfinished[0].where} is unacknowledged, and poll returns"
            self.violated(Duty.UNFINISHED_POLL, text)
        if self.settings.record_limit and len(event.records) > most:
            text = f"a poll returns {len(event.records)} records, max.poll.records is {most}"
            self.violated(Duty.AT_MOST, text)
        last: dict[tuple[Place, int], int] = {}
        for record in event.records:
            held = self._receive(record)
            if held is not None:
                self._ordered(held, last)
        self.failed = self.failed if event.error is None else self.position
        for held in self.holdings.every() if event.error is None else ():
            held.passed_over = held.renewed is not None and held.renewed < self.began
        if event.error is None and not event.records:
            self.report(empty_handed(self.holdings, self.began, self.times))
        call = self.call or Called(event.at_ms, "poll")
        elapsed_ms = max(call.timeout_ms, event.at_ms - call.at_ms)
        self.report(too_often(self.empty_fetches, elapsed_ms))

    def _ordered(self, held: Held, last: dict[tuple[Place, int], int]) -> None:
        """Judge the order of what a poll returns of one answer."""
        before = last.get((held.place, held.answer), -1)
        if held.offset < before:
            self.violated(Duty.IN_ORDER, f"{held.where} comes after {before}")
        last[held.place, held.answer] = held.offset

    def _receive(self, record: Delivered) -> Held | None:
        """Judge a record that a poll returned; return the acquisition that it must be of."""
        where = f"{place_name(record.place)} offset {record.offset}"
        known = self.holdings.known(record.place, record.offset)
        again = [held for held in known if held.renewed is not None and held.count == record.count]
        waiting = [held for held in known if held.delivered is None]
        waiting.sort(key=lambda held: held.place != record.place)  # Deleted topics last.
        fitting = [held for held in waiting if held.count == record.count]
        held = min(fitting, key=lambda h: (h.sent is not None, h.lost is not None), default=None)
        if again and (held is None or again[-1].lost is None):
            again[-1].renewed = None
            return again[-1]
        if held is None and waiting:
            held = waiting[-1]
            text = f"{where} has delivery count {record.count}, it was acquired with {held.count}"
            self.violated(Duty.AS_ACQUIRED, text)
        elif held is None and known:
            self.violated(
                Duty.ONCE, f"{where} is delivered again, it was acquired {len(known)} times"
            )
        elif held is None:
            self.violated(Duty.ONLY_ACQUIRED, f"{where} is delivered and was never acquired for it")
        if held is None:
            return None
        self.holdings.deliver(held, self.position)
        if held.is_gap:
            self.violated(Duty.NO_CONTROL, f"{where} is delivered and is no record of data")
        elif record.value != value_of(record.offset).decode() and not (
            held.is_corrupt and record.value == UNREADABLE
        ):
            self.violated(Duty.AS_ACQUIRED, f"{where} has another value than was produced")
        return held

    def end(self) -> None:
        """Judge what is known once the client has closed without an error."""
        if not self.closed:
            return
        if any(session.is_open or session.hung_up for session in self.sessions.values()):
            text = "the client has closed, and sent no final epoch for the session that it had"
            self.violated(Duty.CLOSES, text)
        if self.is_member:
            text = "the client has closed, and its member is in the group"
            self.violated(Duty.LEAVES, text, why_not_left(self.membership))
        self.report(untold(self.holdings, self.settings))
        for held in self.holdings.every():
            self._settled(held)
        for held in self.holdings.unreported():
            text = f"{held.where} has no record, one after it is acknowledged, and it never was"
            self.violated(Duty.GAPS, text, held)

    def _settled(self, held: Held) -> None:
        if held.due is None or held.told_failure:
            return
        if held.fate is Fate.UNSENT and held.lost is None and held.due != RENEW:
            text = f"{held.where} was to be acknowledged with type {held.due}, which was never sent"
            self.violated(Duty.ALL_SENT, text, held)
        if held.fate in FAILED and self.settings.callbacks:
            text = f"the acknowledgement of {held.where} {held.fate.value}, and nobody was told"
            self.violated(Duty.REFUSAL_KNOWN, text)


_TAKES: Mapping[type[Any], Callable[[_Judging, Any], None]] = {
    Asked: _Judging.asked,
    Answered: _Judging.answered,
    Cut: _Judging.cut,
    Compacted: lambda judging, event: judging.holdings.remove(event.place, event.offsets),
    Corrupted: lambda judging, event: judging.holdings.spoil(event.place, event.offsets),
    Lost: _Judging.lost,
    Moved: _Judging.moved,
    Deleted: _Judging.deleted,
    Drained: _Judging.drained,
    Heartbeat: _Judging.beat,
    Waited: _Judging.waited,
    Called: _Judging.called,
    Returned: _Judging.returned,
    Ended: lambda judging, event: judging.violated(Duty.RETURNS, event.text),
}
