"""Random commands for a broker, which depend on its most plausible state.

A mixture leaves most kinds of command out, as in ``cores.generate``. Waiting costs real time, so
that a command which waits until all locks have ended is rare.
"""

from collections.abc import Callable
from random import Random

import attrs

from conformance.cores.acknowledgements import MISSHAPEN, Shape
from conformance.wire import asks
from conformance.wire.scene import MEMBERS, WireScene
from conformance.wire.target import WireCapabilities, WireHello
from conformance.wire.written import committed_only
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.states import AcknowledgeType, AcquireMode

_ALWAYS = {asks.WireProduce: 3.0, asks.WireFetch: 10.0, asks.WireAcknowledge: 7.0}
_SOMETIMES = {
    asks.WireDisconnect: 0.7,
    asks.WireDeleteRecords: 1.0,
    asks.WireProduceAborted: 1.0,
    asks.WireProduceOpen: 1.0,
    asks.WireDescribe: 4.0,
    asks.WireWait: 1.5,
    asks.WireWaitPastLocks: 0.7,
    asks.WireFindCoordinator: 1.0,
    asks.WireAlterOffset: 0.7,
    asks.WireRecreate: 0.5,
}
_COLONS = (":", ":0", "::", "a:b")
_OTHERS = (" ", "/", "é", "%", "#", "'", '"', "\\", "…", "*", "?", "&", "=", ",", ";")
"""What the ids of some groups end with, since any character is legal; keys have colons."""
_ENDING = 3.0
"""The weight of the end of a transaction where some stay open: nothing else lets a fetch pass."""

_NEEDS: dict[type[asks.Ask], str] = {
    asks.WireDeleteRecords: "delete_records",
    asks.WireProduceAborted: "aborted",
    asks.WireProduceOpen: "transactions",
    asks.WireDescribe: "offsets",
    asks.WireDisconnect: "sessions",
    asks.WireFindCoordinator: "coordinators",
    asks.WireAlterOffset: "alters",
    asks.WireRecreate: "recreates",
}
"""The capability that a command needs."""

_TYPES = (
    (AcknowledgeType.ACCEPT,),
    (AcknowledgeType.RELEASE,),
    (AcknowledgeType.RENEW,),
    (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE),
    (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.GAP),
    tuple(AcknowledgeType),
)
_ODD = (asks.Epoch.OPEN, asks.Epoch.CLOSE, asks.Epoch.CLOSE, asks.Epoch.AGAIN, asks.Epoch.SKIP)
_WRONG = (asks.Epoch.AGAIN, asks.Epoch.SKIP)
_LASTING = 0.15
"""How likely a sequence has little but requests of one session: its epochs become large."""

_STRANGERS = tuple(each for each in asks.Stranger if each is not asks.Stranger.NONE)
_WIDE = 50
"""Only large batches reach window limits above this."""

_WHOLE = 0.5
"""How likely records are taken and acknowledged as a whole where log batches are large."""

_WAITING = 6.0
"""The weight of a wait where locks are renewed: only time shows whether they were."""

_COMMITTED = 0.8
"""How likely read_committed is where transactions are aborted or stay open."""


_COMMITS = 0.6
"""How likely an open transaction commits, when it ends."""

_FEW_BYTES = 0.15
"""How likely fetches ask for fewer bytes than a record has."""

_REFUSED = 0.2
"""How likely renewals are switched off where members renew."""

_HANGS_UP = 0.7
"""How likely members are disconnected as well where a group is emptied, as clients that end do."""

_BRIEF = 0.4
"""The weight of a member that joins for a moment."""
_FALLS_SILENT = 0.4
"""How likely a member that joins for a moment falls silent, which takes time."""

_THROTTLES, _THROTTLED = 0.15, 0.1
"""How likely a client exceeds a quota now and then, and with each of its fetches: it takes time."""

_PATIENT = 0.4
"""How likely a wait is after a connection is closed, so that the broker notices."""


_RESETS = {"earliest": 0.65, "latest": 0.2, "by_duration": 0.15}
_OLD = 0.5
"""How often each reset is configured, and how likely records are older than by_duration says."""

_OF_TRANSACTIONS = (asks.WireProduceAborted, asks.WireProduceOpen, asks.WireEndTransaction)
"""What leaves markers, with a timestamp of their own: not with by_duration."""


@attrs.frozen
class WireMixture:
    """The kinds of command in a sequence with their weights, and the values of their fields.

    ``odd``: how likely a request has another epoch than the next, and ``epochs`` which;
    ``sizes``: of the log batches; ``tidy``: members do not fetch while they hold records;
    ``few_bytes``: they fetch fewer bytes than a record has; ``group``: how the group's id ends;
    ``throttled``: how likely they are over a quota as they fetch all;
    ``whole``: they fetch what there is, and acknowledge all of it, so that wide windows slide.
    """

    config: SharePartitionConfig
    partitions: int
    weights: dict[type[asks.Ask], float]
    members: tuple[str, ...]
    modes: tuple[AcquireMode, ...]
    types: tuple[AcknowledgeType, ...]
    sizes: tuple[int, ...]
    odd: float
    epochs: tuple[asks.Epoch, ...]
    gaps: bool
    malformed: bool
    strangers: bool
    piggybacked: bool
    tidy: bool
    whole: bool
    group: str
    few_bytes: bool
    throttled: float = 0.0


def begin(random: Random, hello: WireHello) -> tuple[WireMixture, asks.WireOpen]:
    """Return a mixture and the first command of a sequence."""
    mix = mixture(random, hello.capabilities)
    return mix, asks.WireOpen(mix.config, mix.partitions, mix.group)


def mixture(random: Random, can: WireCapabilities) -> WireMixture:
    """Return a random mixture of what the broker can do."""
    mix = _mixture(random, can)
    # Drawn last: a seed brings what it always did from a broker whose groups have no such settings.
    if can.heartbeats_ms and len(mix.weights) > len(_ALWAYS) and random.random() < 0.5:
        mix = attrs.evolve(mix, weights={**mix.weights, asks.WireBriefMember: _BRIEF})
    config = mix.config
    by_duration = config.auto_offset_reset is AutoOffsetReset.BY_DURATION
    plain = mix.partitions == 1 and not (mix.whole or by_duration or committed_only(config))
    if can.throttles and plain and random.random() < _THROTTLES:
        return attrs.evolve(mix, throttled=_THROTTLED)
    return mix


def _mixture(random: Random, can: WireCapabilities) -> WireMixture:
    optional = {
        kind: weight
        for kind, weight in _SOMETIMES.items()
        if random.random() < 0.5 and getattr(can, _NEEDS.get(kind, ""), True)
    }
    lasting = can.sessions and random.random() < _LASTING
    if lasting:
        optional.clear()
    if asks.WireProduceOpen in optional:
        optional[asks.WireEndTransaction] = _ENDING
    modes = [tuple(AcquireMode(mode) for mode in can.acquire_modes)]
    modes += [(mode,) for mode in modes[0]]
    renewing = (AcknowledgeType.RENEW,)
    types = random.choice([some for some in _TYPES if can.renew or some != renewing])
    if types == renewing:
        optional[asks.WireWait] = _WAITING
    if not can.renew:
        types = tuple(t for t in types if t is not AcknowledgeType.RENEW)
    reset = AutoOffsetReset(random.choices(can.resets, [_RESETS[each] for each in can.resets])[0])
    if reset is AutoOffsetReset.BY_DURATION:
        for kind in _OF_TRANSACTIONS:
            optional.pop(kind, None)
    limit = random.choice(can.lock_limits)
    wide = (limit // 3, limit // 2 + 1) * 2 if limit > _WIDE and random.random() < 0.4 else ()
    whole = bool(wide) and random.random() < _WHOLE
    transactional = {asks.WireProduceAborted, asks.WireProduceOpen} & optional.keys()
    keeps_back = can.committed and bool(transactional) and random.random() < _COMMITTED
    return WireMixture(
        SharePartitionConfig(
            delivery_count_limit=random.choice(can.delivery_limits),
            partition_max_record_locks=limit,
            record_lock_duration_ms=can.lock_ms,
            auto_offset_reset=reset,
            isolation_level=IsolationLevel("read_committed" if keeps_back else "read_uncommitted"),
            renew_acknowledge_enable=not (
                can.renew_setting and AcknowledgeType.RENEW in types and random.random() < _REFUSED
            ),
        ),
        random.choice((1, 1, 2)),
        {**_ALWAYS, **optional},
        MEMBERS[: 1 if lasting else random.choice((2, 2, 3))],
        random.choice(modes),
        types,
        wide if whole else (1, 2, 3, 5, *wide),
        odd=0.15 if lasting else random.choice((0.0, 0.1)) if can.sessions else 0.0,
        epochs=_WRONG if lasting else _ODD,
        gaps=can.gaps and reset is not AutoOffsetReset.BY_DURATION and random.random() < 0.3,
        malformed=random.random() < 0.2,
        strangers=random.random() < 0.2,
        piggybacked=random.random() < 0.7,
        tidy=random.random() < 0.3 or whole,
        whole=whole,
        group=random.choice(random.choice((_COLONS, _OTHERS))) if random.random() < 0.5 else "",
        few_bytes=random.random() < _FEW_BYTES,
    )


def next_ask(random: Random, mix: WireMixture, scene: WireScene) -> asks.Ask:
    """Return the next command of a sequence: often a wait after a connection is closed."""
    if scene.last == "disconnect" and random.random() < _PATIENT:
        return asks.WireWait(60)
    (kind,) = random.choices(list(mix.weights), list(mix.weights.values()))
    return _MAKERS[kind](random, mix, scene)


def _produce_open(random: Random, mix: WireMixture, _scene: WireScene) -> asks.Ask:
    return asks.WireProduceOpen(_partition(random, mix), _appended(random, mix, 2))


def _end(random: Random, mix: WireMixture, scene: WireScene) -> asks.Ask:
    """End an open transaction, or begin one."""
    some = [partition for partition in range(mix.partitions) if scene.log(partition).open]
    if not some:
        return _produce_open(random, mix, scene)
    return asks.WireEndTransaction(random.choice(some), committed=random.random() < _COMMITS)


def _appended(random: Random, mix: WireMixture, most: int) -> tuple[tuple[int, int], ...]:
    gaps = (0, 0, 0, 1) if mix.gaps else (0,)
    number = random.randint(1, most)
    return tuple((random.choice(gaps), random.choice(mix.sizes)) for _ in range(number))


def _old(random: Random, mix: WireMixture) -> bool:
    by_duration = mix.config.auto_offset_reset is AutoOffsetReset.BY_DURATION
    return by_duration and random.random() < _OLD


def _fetch(random: Random, mix: WireMixture, scene: WireScene) -> asks.Ask:
    idle = [member for member in mix.members if not _holds(mix, scene, member)]
    if mix.tidy and not idle:
        return _acknowledge(random, mix, scene)
    member = random.choice(idle if mix.tidy else mix.members)
    some = tuple(p for p in range(mix.partitions) if random.random() < 0.5)
    carries = mix.piggybacked and random.random() < 0.6
    acknowledged = _acknowledged(random, mix, scene, member) if carries else ()
    if mix.throttled and random.random() < mix.throttled:
        return asks.WireFetch(member, throttled=True)
    return asks.WireFetch(
        member,
        some if random.random() < 0.2 else (),
        random.choice((500,) if mix.whole else (1, 2, 3, 5, 500)),
        random.choice((1, 2, 500)),
        random.choice(mix.modes),
        acknowledged,
        (random.randrange(mix.partitions),) if random.random() < 0.05 else (),
        _epoch(random, mix),
        _stranger(random, mix, 0.25 if acknowledged else 0.1),
        unsaid=random.random() < 0.02,
        max_bytes=asks.FEWEST_BYTES if mix.few_bytes else asks.MOST_BYTES,
    )


def _acknowledge(random: Random, mix: WireMixture, scene: WireScene) -> asks.Ask:
    """Acknowledge mostly records that the member holds; if nobody holds any, fetch."""
    holding = [member for member in mix.members if _holds(mix, scene, member)]
    if not holding and random.random() < 0.8:
        return _fetch(random, mix, scene)
    member = random.choice(holding if holding and random.random() < 0.9 else mix.members)
    acknowledged = _acknowledged(random, mix, scene, member)
    unsaid = random.random() < 0.02
    epoch, stranger = _epoch(random, mix), _stranger(random, mix)
    if epoch is asks.Epoch.CLOSE and random.random() < 0.25:
        acknowledged = ()
    return asks.WireAcknowledge(member, acknowledged, epoch, stranger, unsaid)


def _disconnect(random: Random, mix: WireMixture, scene: WireScene) -> asks.Ask:
    holding = [member for member in mix.members if _holds(mix, scene, member)]
    return asks.WireDisconnect(random.choice(holding or mix.members))


def _find(random: Random, mix: WireMixture, _scene: WireScene) -> asks.Ask:
    key = random.choice(tuple(asks.Key)) if random.random() < 0.5 else asks.Key.WHOLE
    return asks.WireFindCoordinator(_partition(random, mix), key)


_MAKERS: dict[type[asks.Ask], Callable[[Random, WireMixture, WireScene], asks.Ask]] = {
    asks.WireProduce: lambda r, mix, _: asks.WireProduce(
        _partition(r, mix), _appended(r, mix, 3), old=_old(r, mix)
    ),
    asks.WireProduceAborted: lambda r, mix, _: asks.WireProduceAborted(
        _partition(r, mix), _appended(r, mix, 2)
    ),
    asks.WireProduceOpen: _produce_open,
    asks.WireEndTransaction: _end,
    asks.WireFetch: _fetch,
    asks.WireAcknowledge: _acknowledge,
    asks.WireDisconnect: _disconnect,
    asks.WireDeleteRecords: lambda r, mix, _: asks.WireDeleteRecords(
        _partition(r, mix), r.randint(1, 6)
    ),
    asks.WireDescribe: lambda r, mix, _: asks.WireDescribe(_partition(r, mix)),
    asks.WireWait: lambda r, _mix, _: asks.WireWait(r.choice((20, 60))),
    asks.WireWaitPastLocks: lambda _r, _mix, _: asks.WireWaitPastLocks(),
    asks.WireFindCoordinator: _find,
    asks.WireAlterOffset: lambda r, mix, _: asks.WireAlterOffset(
        _partition(r, mix), r.randint(0, 6), hang_up=r.random() < _HANGS_UP
    ),
    asks.WireRecreate: lambda r, _mix, _: asks.WireRecreate(
        r.random() < 0.3, hang_up=r.random() < _HANGS_UP
    ),
    asks.WireBriefMember: lambda r, _mix, _: asks.WireBriefMember(
        r.randrange(2), silent=r.random() < _FALLS_SILENT
    ),
}


def _partition(random: Random, mix: WireMixture) -> int:
    return random.randrange(mix.partitions)


def _epoch(random: Random, mix: WireMixture) -> asks.Epoch:
    return random.choice(mix.epochs) if random.random() < mix.odd else asks.Epoch.NEXT


def _stranger(random: Random, mix: WireMixture, often: float = 0.1) -> asks.Stranger:
    strange = mix.strangers and random.random() < often
    return random.choice(_STRANGERS) if strange else asks.Stranger.NONE


def _holds(mix: WireMixture, scene: WireScene, member: str) -> bool:
    return any(scene.held(partition, member) for partition in range(mix.partitions))


def _acknowledged(
    random: Random, mix: WireMixture, scene: WireScene, member: str
) -> tuple[asks.Acknowledged, ...]:
    """Acknowledge mostly what the member holds, in one range or several; now and then anything."""
    offers = []
    for partition in range(mix.partitions):
        held = len(scene.held(partition, member))
        if held or random.random() < 0.1:
            batches = _batches(random, mix, member, held)
            offers.append(asks.Acknowledged(partition, batches))
    return tuple(offers)


def _batches(random: Random, mix: WireMixture, member: str, held: int) -> tuple[asks.AskBatch, ...]:
    if not held or random.random() < 0.15:
        whose = random.choice(("", "", *mix.members))
        return (_batch(random, mix, whose, random.randint(-2, 6), random.randint(1, 4)),)
    if mix.whole:
        return (_batch(random, mix, member, 0, held),)
    if mix.types == (AcknowledgeType.RENEW,) and random.random() < 0.7:
        return tuple(_batch(random, mix, member, nth, 1) for nth in range(held))
    if random.random() < 0.5:
        return (_batch(random, mix, member, random.randrange(held), random.randint(1, held)),)
    some = sorted(random.sample(range(held), min(held, random.randint(1, 4))))
    return tuple(_batch(random, mix, member, nth, 1) for nth in some)


def _batch(random: Random, mix: WireMixture, whose: str, nth: int, length: int) -> asks.AskBatch:
    size = 1 if random.random() < 0.6 else length
    types = tuple(int(random.choice(mix.types)) for _ in range(size))
    bad = mix.malformed and random.random() < 0.1
    return asks.AskBatch(
        whose, nth, length, types, random.choice(MISSHAPEN) if bad else Shape.WELL_FORMED
    )
