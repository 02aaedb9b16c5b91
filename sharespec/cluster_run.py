"""One run of a cluster of brokers under faults: started, worked on, healed, drained, stopped."""

import heapq
import json
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from uuid import UUID

import attrs

from clients.work import (
    COMPACTED,
    PLAIN,
    TRANSACTIONS,
    MemberPolled,
    Work,
    member_at_work,
    now_ms,
    producer_at_work,
)
from conformance.cluster.fault_plan import (
    DEAD_LETTERS,
    NODES,
    PARTITIONS,
    STATE_PARTITIONS,
    STATE_TOPIC,
    TOPIC,
    PlannedFault,
)
from conformance.cluster.faults import Injector
from conformance.cluster.history import (
    FaultsOver,
    GroupAltered,
    GroupSettings,
    InjectedFault,
    LeaderAtRest,
    LetterAppended,
    RecordsAborted,
    RecordsCompacted,
    RecordsDeleted,
)
from conformance.cluster.nodes import Nodes
from conformance.cluster.run_state import READ_COMMITTED
from conformance.target import TargetError
from conformance.wire.admin import Admin, Resource
from model.state_topic_codec import record_from_bytes, record_to_json
from sharespec.cluster_groups import ClusterRun, GroupRun, drawn_groups

DUMP, WORK = "state-topic.txt", "work.jsonl"
"""The files with the records of the state topic, as Kafka's formatter prints them, and with what
the producer and the members saw.
"""

_FIRST_RECORD_SECONDS, _DRAIN_SECONDS, _LOOK_S, _RECORDER_S, _READ_SECONDS = 90, 120, 2.0, 2.5, 30

_LOGS = (PLAIN, PLAIN, PLAIN, TRANSACTIONS, TRANSACTIONS, COMPACTED)
_COMPACTS_SOON = {
    "cleanup.policy": "compact,delete",
    "retention.ms": "-1",
    "segment.ms": "2000",
    "min.cleanable.dirty.ratio": "0.0",
    "max.compaction.lag.ms": "2000",
}
_CLEANER = {
    "log.cleaner.enable": "true",
    "log.cleaner.dedupe.buffer.size": "20000000",
    "log.cleaner.backoff.ms": "1000",
}

Say = Callable[[str], None]
T = TypeVar("T")


def run_cluster(  # noqa: PLR0913, PLR0917 - what a run is given
    folder: Path,
    seed: int,
    seconds: float,
    plan: Sequence[PlannedFault],
    say: Say,
    look: Callable[[ClusterRun], T],
    keep: Callable[[], None],
) -> T:
    """Run a cluster in a folder, and return what ``look`` makes of it before the folder goes.

    An interrupt while it runs ends the faults and leaves what there is. Raises TargetError.
    """
    random = Random(seed)  # noqa: S311 - a run is drawn from its seed
    log = random.choice(_LOGS)
    groups = drawn_groups(random, log)
    run = ClusterRun(seed, groups, tuple(plan), folder, log)
    cleaner = _CLEANER if log == COMPACTED else {}
    nodes = Nodes(folder, _broker_settings(groups[0].settings) | cleaner)
    try:
        say("three nodes start")
        for id_ in NODES:
            nodes.start(id_)
        nodes.await_all()
        run.topic_id = nodes.ask(lambda admin: _create(admin, groups, log))
        work = Work(nodes.bootstrap, TOPIC, log)
        begun = time.monotonic()
        try:
            _work_under_faults(run, nodes, work, random, seconds, say)
        except KeyboardInterrupt:
            run.interrupted = True
        except BaseException:
            work.end()
            raise
        run.seconds = time.monotonic() - begun
        _end(run, nodes, work, say)
        say("what happened is judged")
        looked = look(run)
        keep()
        return looked
    finally:
        nodes.close()


def _create(admin: Admin, groups: Iterable[GroupRun], log: str) -> str:
    admin.check_cluster(len(NODES))
    topic_id = admin.create_topic(TOPIC, PARTITIONS, len(NODES))
    if log == COMPACTED:
        admin.configure(Resource.TOPIC, TOPIC, _COMPACTS_SOON)
    if any(group.settings.dead_letter_queue for group in groups):
        admin.create_topic(DEAD_LETTERS, 1, len(NODES))
        of_letters = {"errors.deadletterqueue.group.enable": "true"}
        admin.configure(Resource.TOPIC, DEAD_LETTERS, of_letters)
    for group in groups:
        of_group = {
            "share.auto.offset.reset": group.settings.auto_offset_reset,
            "share.isolation.level": group.settings.isolation_level,
        }
        if group.settings.dead_letter_queue:
            of_group["errors.deadletterqueue.topic.name"] = DEAD_LETTERS
        admin.configure(Resource.GROUP, group.name, of_group)
    return topic_id


def _broker_settings(settings: GroupSettings) -> dict[str, str]:
    values = {
        "group.share.delivery.count.limit": settings.delivery_count_limit,
        "group.share.partition.max.record.locks": settings.partition_max_record_locks,
        "group.share.record.lock.duration.ms": settings.record_lock_duration_ms,
        "share.coordinator.snapshot.update.records.per.snapshot": settings.updates_per_snapshot,
    }
    return {name: str(value) for name, value in values.items()}


def _work_under_faults(  # noqa: PLR0913, PLR0917 - what a run is made of
    run: ClusterRun,
    nodes: Nodes,
    work: Work,
    random: Random,
    seconds: float,
    say: Say,
) -> None:
    """Let members work, do the faults of the plan, heal, and wait until nothing is left to do."""
    say("members begin to work")
    work.start("producer", producer_at_work, random.getrandbits(32), PARTITIONS)
    for member in (member for group in run.groups for member in group.members):
        work.start(member.name, member_at_work, member, random.getrandbits(32))
    _await_first_record(work)
    injector = Injector(nodes, run.topic_id)
    _inject(run, injector, seconds, lambda text: say(f"{text}, {_counted(work)}"))
    say("everything is healed")
    injector.heal()
    nodes.await_all()
    alterations = (fault for fault in run.plan if fault.name == "alter")
    last = {(f.arguments["group"], f.arguments["setting"]): f for f in alterations}
    for fault in last.values():  # Of one that was not answered nobody knows whether it was done.
        injector.inject(fault)
    run.note(now_ms(), FaultsOver())
    work.draining.set()
    _await_rest(run, nodes, lambda text: say(f"{text}, {_counted(work)}"))


def _await_first_record(work: Work) -> None:
    until = time.monotonic() + _FIRST_RECORD_SECONDS
    while not any(isinstance(e, MemberPolled) and e.records for e in work.seen()):
        if time.monotonic() > until:
            failed = [str(e) for e in work.seen() if not isinstance(e, MemberPolled)]
            text = f"no member got a record in {_FIRST_RECORD_SECONDS} s"
            raise TargetError("; ".join((text, *failed[-3:])))
        time.sleep(_LOOK_S / 4)


def _counted(work: Work) -> str:
    delivered = sum(len(e.records) for e in work.seen() if isinstance(e, MemberPolled))
    return f"{delivered:,} records delivered"


def _inject(run: ClusterRun, injector: Injector, seconds: float, say: Say) -> None:
    """Do the faults of the plan at their times and undo each after its own."""
    begun, numbers, tie = time.monotonic(), count(), count()
    queue: list[tuple[float, int, Any]] = [(f.ms / 1000, next(tie), f) for f in run.plan]
    queue.append((seconds, next(tie), None))
    heapq.heapify(queue)
    while queue:
        at, _tie, what = heapq.heappop(queue)
        while (left := at - (time.monotonic() - begun)) > 0:
            done = len(run.faults)
            say(
                f"{time.monotonic() - begun:.0f} of {seconds:g} s, {done} of {len(run.plan)} faults"
            )
            injector.nodes.touch()
            time.sleep(min(1.0, left))
        if what is None:
            return
        if not isinstance(what, PlannedFault):
            what()
            continue
        for group in run.named(str(what.arguments.get("group"))):
            group.happened.append((now_ms(), _altered(group, what)))
        done_fault = injector.inject(what)
        run.note(now_ms(), InjectedFault(next(numbers), done_fault.text))
        if done_fault.undo is not None:
            until = time.monotonic() - begun + done_fault.undo_ms / 1000
            heapq.heappush(queue, (until, next(tie), done_fault.undo))


def _altered(group: GroupRun, fault: PlannedFault) -> GroupAltered:
    """Return the settings of a group as they are once a fault has altered one."""
    before = (what for _ms, what in reversed(group.happened) if isinstance(what, GroupAltered))
    settings: GroupSettings | GroupAltered = next(before, group.settings)
    values = {each.name: getattr(settings, each.name) for each in attrs.fields(GroupAltered)}
    return GroupAltered(**{**values, str(fault.arguments["setting"]): fault.arguments["value"]})


def _await_rest(run: ClusterRun, nodes: Nodes, say: Say) -> None:
    """Wait until the lag is 0; note the leaders as they are then, or when the time is over."""
    begun = time.monotonic()
    while True:
        try:
            rest = [
                (group, each) for group in run.groups for each in leaders_at_rest(nodes, group.name)
            ]
        except TargetError as error:
            rest, text = [], str(error)
        else:
            at_rest = (each for _group, each in rest if isinstance(each, LeaderAtRest))
            lag = sum(
                r.log_end_offset - r.start_offset - r.delivery_complete_count for r in at_rest
            )
            text = f"lag {lag}"
        taken = time.monotonic() - begun
        is_over = taken > _DRAIN_SECONDS
        if rest and (is_over or not lag):
            run.drained_s = None if lag else taken
            for group, each in rest:
                group.happened.append((now_ms(), each))
            return
        if is_over:
            run.troubles.append(f"the lag could not be asked for: {text}")
            return
        say(f"members drain, {text}")
        nodes.touch()
        time.sleep(_LOOK_S)


def leaders_at_rest(nodes: Nodes, group: str) -> list[RecordsDeleted | LeaderAtRest]:
    """Return where each log begins, and its share-partition as the group coordinator describes it.

    Raises TargetError.
    """
    leaders = nodes.ask(lambda admin: admin.leaders(TOPIC))
    coordinator = str(nodes.ask(lambda admin: admin.find_coordinator(group)))
    rest: list[RecordsDeleted | LeaderAtRest] = []
    for partition, leader in leaders.items():
        found = nodes.ask(lambda a, p=partition: a.describe(group, TOPIC, p)[1], coordinator)  # type: ignore[misc]
        if found.error_code or found.lag < 0:
            raise TargetError(f"partition {partition} has no lag, error {found.error_code}")
        # Last: records that are produced meanwhile would look like no lag.
        begin, end = nodes.ask(lambda a, p=partition: _ends(a, p), str(leader))  # type: ignore[misc]
        start, epoch = max(found.start_offset, begin), found.leader_epoch
        # No leader tells its coordinator of deleted records alone: those may be all that is left.
        lag = max(0, found.lag - (start - found.start_offset))
        if begin:
            rest.append(RecordsDeleted(partition, begin))
        rest.append(LeaderAtRest(partition, end, epoch, start, end, end - start - lag))
    return rest


def _ends(admin: Admin, partition: int) -> tuple[int, int]:
    return admin.start_offset(TOPIC, partition), admin.end_offset(TOPIC, partition)


def _end(run: ClusterRun, nodes: Nodes, work: Work, say: Say) -> None:
    """Close the members, read the state topic, end the recordings, and stop the nodes."""
    say("members close")
    nodes.links.heal_all()
    for id_ in NODES:
        nodes.resume(id_)
    work.end()
    seen = work.seen()
    for group in run.groups:
        names = {member.name for member in group.members}
        group.work = tuple(e for e in seen if getattr(e, "member", None) in {None, *names})
    with (run.folder / WORK).open("w", encoding="utf-8") as out:
        for each in seen:
            out.write(json.dumps({"event": type(each).__name__, **attrs.asdict(each)}) + "\n")
    say("the topics are read")
    _read_state_topic(run, nodes.bootstrap)
    read_log(run, nodes.bootstrap)
    read_letters(run, nodes.bootstrap)
    nodes.end_recordings()
    time.sleep(_RECORDER_S)
    nodes.stop()
    run.paused_ms = nodes.paused_ms


def _read_state_topic(run: ClusterRun, bootstrap: str) -> None:
    """Read all records of the state topic, and write those of the groups as a dump."""
    with (run.folder / DUMP).open("w", encoding="utf-8") as dump:
        for message in _messages(run, bootstrap, STATE_TOPIC, STATE_PARTITIONS) or ():
            record = record_from_bytes(message.key() or b"", message.value())
            if record.key.topic_id == UUID(run.topic_id):
                for group in run.named(record.key.group_id):
                    group.committed.append((message.timestamp()[1], record))
                dump.write(json.dumps(record_to_json(record)) + "\n")


def read_log(run: ClusterRun, bootstrap: str) -> None:
    """Note which records of the topic were aborted, or are gone by compaction.

    When that was is not known: it stands before what is judged at rest.
    """
    if run.log == PLAIN:
        return
    both = (
        _messages(run, bootstrap, TOPIC, PARTITIONS, level)
        for level in ("read_uncommitted", READ_COMMITTED)
    )
    every, committed = (
        None if some is None else {(m.partition(), m.offset()) for m in some} for some in both
    )
    if every is None or committed is None:
        _leave_rest_unjudged(run)
        return
    of_any = run.groups[0].happened
    ms = next((ms for ms, what in of_any if isinstance(what, FaultsOver)), now_ms())
    kind = RecordsCompacted if run.log == COMPACTED else RecordsAborted
    for partition in range(PARTITIONS):
        gone = {offset for p, offset in every - committed if p == partition}
        if run.log == COMPACTED:
            there = {offset for p, offset in every if p == partition}
            gone = set(range(max(there, default=0))) - there
        run.note(ms, kind(partition, tuple((o, o) for o in sorted(gone))))


def read_letters(run: ClusterRun, bootstrap: str) -> None:
    """Note which records are in the topic of dead letters."""
    if not any(group.settings.dead_letter_queue for group in run.groups):
        return
    messages = _messages(run, bootstrap, DEAD_LETTERS, 1)
    if messages is None:
        _leave_rest_unjudged(run)
    for message in messages or ():
        of = dict(message.headers() or ())
        partition, offset = (int(of[f"__dlq.errors.{name}"]) for name in ("partition", "offset"))
        for group in run.named(of["__dlq.errors.group"].decode()):
            group.happened.append((message.timestamp()[1], LetterAppended(partition, offset)))


def _leave_rest_unjudged(run: ClusterRun) -> None:
    """Forget the leaders at rest: nothing tells which records need not be finished."""
    for group in run.groups:
        group.happened = [e for e in group.happened if not isinstance(e[1], LeaderAtRest)]


def _messages(
    run: ClusterRun, bootstrap: str, topic: str, partitions: int, level: str = "read_uncommitted"
) -> list[Any] | None:
    """Return what is in a topic; None, and a trouble of the run, if it cannot be read whole."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition  # noqa: PLC0415 - an extra

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "sharespec",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "isolation.level": level,
            "log_level": 0,
        }
    )
    messages: list[Any] = []
    ended: set[int] = set()
    until = time.monotonic() + _READ_SECONDS
    try:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        while len(ended) < partitions and time.monotonic() < until:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if error := message.error():
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                    ended.add(message.partition() or 0)
                continue
            messages.append(message)
    finally:
        consumer.close()
    if len(ended) < partitions:
        run.troubles.append(f"topic {topic} could not be read whole")
        return None
    return messages
