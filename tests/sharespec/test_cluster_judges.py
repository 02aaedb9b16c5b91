"""What a run of a cluster leaves, and how each of its groups is judged by it."""

import gzip
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import attrs
import pytest

from clients.cluster_history import LATE_MS, Row
from clients.events import ACCEPT
from clients.work import (
    COMPACTED,
    PLAIN,
    TRANSACTIONS,
    MemberAcknowledged,
    MemberTold,
    RecordProduced,
)
from conformance.cluster.fault_plan import GROUPS
from conformance.cluster.history import (
    FaultsOver,
    GroupAltered,
    Happening,
    LeaderAcquired,
    LeaderAsked,
    LeaderAtRest,
    LetterAppended,
    RecordsAborted,
    RecordsCompacted,
    RecordsDeleted,
    history_line,
    read_history,
)
from conformance.cluster.nodes import LOG, TRACE
from conformance.cluster.rules import judge_history
from conformance.cluster.run_state import READ_COMMITTED, READ_UNCOMMITTED
from conformance.target import TargetError
from model.ranges import StateBatch
from model.state_topic import SharePartitionKey, ShareUpdate, StateRecord
from model.states import RecordState
from sharespec import cluster_judges, cluster_run
from sharespec.cluster_groups import ClusterRun
from sharespec.cluster_judges import (
    JudgedCluster,
    happened_to_judge,
    judge_cluster,
    letters_given_up,
    readable_records,
    settings_to_judge,
)
from tests.clients.test_cluster_history import Leader
from tests.sharespec.commands.test_cluster import SETTINGS, groups, judged

ALTERED = (8, 4000), (3, 1500)


@pytest.mark.parametrize(
    ("log", "noted", "readable"),
    [
        (PLAIN, [], {0, 2, 3, 5}),
        (
            TRANSACTIONS,
            [RecordsAborted(0, ((2, 2),)), RecordsAborted(1, ()), RecordsAborted(2, ())],
            {0, 3, 5},
        ),
        (
            COMPACTED,
            [
                RecordsCompacted(0, ((0, 0), (3, 3), (4, 4))),
                RecordsCompacted(1, ()),
                RecordsCompacted(2, ()),
            ],
            {2, 5},
        ),
    ],
)
def test_the_log_tells_which_records_are_aborted_or_gone(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    log: str,
    noted: list[Happening],
    readable: set[int],
) -> None:
    there = {"read_uncommitted": (1, 2, 5), READ_COMMITTED: (1, 5)}
    run_ = ClusterRun(7, groups(), (), tmp_path, log)
    _first, group = run_.groups
    group.work = tuple(RecordProduced(0, 0, offset) for offset in (0, 2, 3, 5))
    monkeypatch.setattr(
        cluster_run,
        "_messages",
        lambda _run, _bootstrap, _topic, _partitions, level: [
            SimpleNamespace(partition=lambda: 0, offset=lambda o=offset: o)
            for offset in there[level]
        ],
    )
    cluster_run.read_log(run_, "")
    for each in run_.groups:
        assert [what for _ms, what in each.happened] == noted
    group.settings = attrs.evolve(SETTINGS, isolation_level=READ_COMMITTED)
    assert {offset for _partition, offset in readable_records(group)} == readable
    group.happened += [(1, RecordsDeleted(0, 5)), (2, LeaderAtRest(0, 6, 0, 6, 6, 0))]
    assert readable_records(group) == {(0, 5)}
    run_.troubles.append("the lag could not be asked for")
    cluster_run.read_log(run_, "")
    assert any(isinstance(what, LeaderAtRest) for _ms, what in group.happened)
    monkeypatch.setattr(cluster_run, "_messages", lambda *_: None)
    cluster_run.read_log(run_, "")
    rests = [what for _ms, what in group.happened if isinstance(what, LeaderAtRest)]
    assert bool(rests) == (log == PLAIN)


def test_dead_letters_are_read_and_none_is_missed_where_nodes_gave_some_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    headers = [("__dlq.errors.partition", b"2"), ("__dlq.errors.offset", b"17")]
    headers.append(("__dlq.errors.group", b"h"))
    letter = SimpleNamespace(headers=lambda: headers, timestamp=lambda: (1, 5))
    monkeypatch.setattr(cluster_run, "_messages", lambda *_: [letter])
    run_ = ClusterRun(7, groups(), (), tmp_path)
    cluster_run.read_letters(run_, "")
    first, group = run_.groups
    assert group.letters == 0
    group.settings = attrs.evolve(SETTINGS, dead_letter_queue=True)
    cluster_run.read_letters(run_, "")
    assert group.happened == [(5, LetterAppended(2, 17))]
    assert first.happened == []
    rest = LeaderAtRest(0, 3, 0, 3, 3, 0)
    monkeypatch.setattr(cluster_run, "_messages", lambda *_: None)
    group.happened = [(9, rest)]
    cluster_run.read_letters(run_, "")
    assert group.happened == []
    for said, missed in (((), ["DEAD_LETTERS_ARRIVE"]), (("Failed to write to DLQ, so",), [])):
        given_up = list(letters_given_up(attrs.evolve(group, happened=[(9, rest)]), said))
        of_two = [LeaderAcquired(0, 1, 0, "M", ((0, 2, 5),)), LeaderAsked(1, 0, 1, 0, 0, "M", ())]
        told_of = [(0, group.settings), *given_up, *((5, each) for each in of_two), (9, rest)]
        lines = [history_line("r", ms, what) for ms, what in told_of]
        assert [finding.name for finding in judge_history(read_history(lines))] == missed


def test_altered_settings_forbid_only_what_each_node_knows_to_be_forbidden() -> None:
    altered = [GroupAltered(limit, 200, lock, "read_uncommitted") for limit, lock in ALTERED]
    run, _second = groups()
    assert [what for _ms, what in happened_to_judge(run)] == [settings_to_judge(run)]
    run.happened = [(10, altered[0]), (20, altered[1]), (30, FaultsOver())]
    settings = settings_to_judge(run)
    assert settings.record_lock_duration_ms == 1500 - LATE_MS
    assert (settings.delivery_count_limit, settings.partition_max_record_locks) == (8, 200)
    told = list(happened_to_judge(run))
    assert told[:2] == [(0, settings), (30, FaultsOver())]
    after = [what for ms, what in told[2:] if ms == 30 and isinstance(what, GroupAltered)]
    assert [each.delivery_count_limit for each in after] == [5, 8, 3]
    assert {each.record_lock_duration_ms for each in after} == {1500 - LATE_MS}


@pytest.mark.parametrize(
    ("before_ms", "rules"), [(25, []), (35, ["ATTEMPTS_ARE_LIMITED"])], ids=["faults", "over"]
)
def test_a_lowered_limit_binds_once_faults_are_over(before_ms: int, rules: list[str]) -> None:
    run, _second = groups()
    run.happened = [(20, GroupAltered(3, 100, 2000, "read_uncommitted")), (30, FaultsOver())]
    happened = [*happened_to_judge(run)]
    for count in range(1, 5):
        ms = before_ms + 5000 * (count - 1) * (before_ms > 30)
        happened.append((ms, LeaderAcquired(0, 1, count, "m", ((7, 7, count),))))
    happened.sort(key=lambda each: each[0])
    lines = [history_line("seed 0", *each) for each in happened]
    assert [found.name for found in judge_history(read_history(lines))] == rules


def committed(group: str, ms: int, batch: StateBatch) -> tuple[int, StateRecord]:
    """An update of the state of partition 0."""
    key = SharePartitionKey(group, UUID(int=7), 0)
    return ms, StateRecord(key, ShareUpdate(1, 0, 0, 0, (batch,)))


def judged_rows(
    monkeypatch: pytest.MonkeyPatch, run_: ClusterRun, rows: Iterable[Row]
) -> JudgedCluster:
    """What the rules from end to end say of a run whose node has recorded these rows."""
    folder = run_.folder / "node-1" / TRACE
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / "0.jsonl.gz", "wt") as out:
        out.writelines(f"{json.dumps(row)}\n" for row in rows)
    monkeypatch.setattr(cluster_judges, "replay_leaders", lambda *_: judged().traces)
    monkeypatch.setattr(cluster_judges, "_judged_logs", lambda *_: judged().logs)
    return judge_cluster(run_)


@pytest.mark.parametrize("wrong", [None, *GROUPS])
def test_each_group_is_judged_by_its_own_records(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str | None
) -> None:
    """Both groups have the same records at once; what one did may not count for the other."""
    run_ = ClusterRun(7, groups(), (), tmp_path)
    rows: list[Row] = []
    for number, group in enumerate(run_.groups):
        member = f"{group.name}-1"
        leader = Leader(ms=1000 + 10 * number).acquire([0, 1, 1], member=member)
        leader.acknowledge([0, 1, [ACCEPT]], member=member).complete(1)
        if group.name == wrong:
            leader.acquire([1, 1, 2], member=f"{group.name}-2")
        rows += [{**r.row, "partition": f"{group.name}:t:0"} for r in leader.rows]
        batch = StateBatch(0, 1, RecordState.ACKNOWLEDGED, 1)
        group.committed = [committed(group.name, 1250, batch)]
        group.work = tuple(MemberAcknowledged(1150, member, 0, o, 1, ACCEPT) for o in (0, 1))
        group.work += (MemberTold(1380, member, 0, (0, 1), None),)
    result = judged_rows(monkeypatch, run_, rows)
    assert (result.history.told, result.history.unmatched) == (4, 0)
    found = {(each.place.partition, each.name) for each in result.findings}
    assert found == ({(f"{wrong}:t:0", "DONE_STAYS_DONE")} if wrong else set())


@pytest.mark.parametrize(
    ("levels", "ms", "is_found"),
    [
        # While a node may not have learned of an alteration, its own word is what binds it.
        ((READ_UNCOMMITTED, READ_COMMITTED, READ_COMMITTED), 1500, True),
        ((READ_UNCOMMITTED, READ_COMMITTED, READ_UNCOMMITTED), 1500, False),
        ((READ_UNCOMMITTED, READ_COMMITTED, READ_UNCOMMITTED), 20_000, True),
        ((READ_COMMITTED, READ_UNCOMMITTED, READ_UNCOMMITTED), 20_000, False),
        ((READ_COMMITTED, READ_COMMITTED, READ_UNCOMMITTED), 1500, True),
    ],
)
def test_aborted_records_are_given_only_where_the_level_is_in_doubt(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    levels: tuple[str, str, str],
    ms: int,
    *,
    is_found: bool,
) -> None:
    before, level, said = levels
    changes = attrs.evolve(SETTINGS, isolation_level=before)
    run_ = ClusterRun(7, groups(SETTINGS, changes), (), tmp_path)
    run_.groups[1].happened.append((1200, GroupAltered(5, 100, 2000, level)))
    run_.note(3000, FaultsOver())
    run_.note(3000, RecordsAborted(0, ((1, 1),)))
    leader = Leader(ms=ms).add("initialize", config={"isolation_level": said})
    rows: list[Row] = [
        {**each.row, "partition": "h:t:0"} for each in leader.acquire([0, 1, 1]).rows
    ]
    rows += [each.row for each in Leader(ms=ms).acquire([0, 1, 1]).rows]
    found = judged_rows(monkeypatch, run_, rows).findings
    places = [(each.place.partition, each.name, each.offset) for each in found]
    assert places == ([("h:t:0", "COMMITTED_ONLY", 1)] if is_found else [])


FENCED_READ = (
    "1200 ERROR SharePartition - Failed to initialize the share partition: h-AA-_A:t-0. "
    "Exception occurred: PartitionData(partition=0,errorCode=74,errorMessage=)"
)
SESSION = "ShareSessionKey[groupId=h, memberId=M]"
SESSIONS = (
    f"1050 DEBUG SharePartitionManager - Created {SESSION}. A new share session will be started.",
    f"1250 DEBUG SharePartitionManager - Removed share session with key {SESSION}",
)


@pytest.mark.parametrize(
    ("is_released", "said", "cause"),
    [
        (False, [FENCED_READ], ("ONE_HOLDER", "a read was fenced since")),
        (False, [FENCED_READ.replace("h-", "g-")], ("ONE_HOLDER", "nothing was fenced")),
        (False, [FENCED_READ.replace("74", "3")], ("ONE_HOLDER", "nothing was fenced")),
        (True, SESSIONS, ("DELIVERIES_ARE_COUNTED", "being written as the last session had ended")),
        (True, SESSIONS[:1], ("DELIVERIES_ARE_COUNTED", "nothing was fenced")),
        (
            True,
            (SESSIONS[0].replace("=M", "=N"), *SESSIONS),
            ("DELIVERIES_ARE_COUNTED", "nothing was fenced"),
        ),
    ],
)
def test_logs_tell_why_a_second_object_followed(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    said: Sequence[str],
    cause: tuple[str, ...],
    *,
    is_released: bool,
) -> None:
    first = Leader(ms=900).add("initialize").acquire([0, 0, 1])
    second = Leader(ms=1200).add("initialize").acquire([0, 0, 1], member="N")
    if is_released:
        write = {"id": 0, "start_offset": 0, "status": "PENDING", "state_batches": [[0, 0, 0, 1]]}
        first.add("release", "PENDING", member="M", writes=[write])
    rows: list[Row] = [{**r.row, "partition": "h:t:0"} for r in first.rows]
    rows += [{**r.row, "partition": "h:t:0", "instance": 1} for r in second.rows]
    run_ = ClusterRun(7, groups(), (), tmp_path)
    run_.groups[1].committed = [committed("h", 2000, StateBatch(0, 0, RecordState.AVAILABLE, 1))]
    (tmp_path / "node-1").mkdir()
    times = [datetime.fromtimestamp(int(line[:4]) / 1000).astimezone() for line in said]
    stamps = [time.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3] for time in times]
    lines = [f"{stamp}{line[4:]}\n" for stamp, line in zip(stamps, said, strict=True)]
    (tmp_path / "node-1" / LOG).write_text("".join(lines))
    assert [each.cause for each in judged_rows(monkeypatch, run_, rows).findings] == [cause]


@pytest.mark.parametrize(("lag", "begin", "left"), [(1, 0, 1), (1, 40, 0), (25, 40, 5), (0, 40, 0)])
def test_deleted_records_are_no_lag(lag: int, begin: int, left: int) -> None:
    found = SimpleNamespace(error_code=0, lag=lag, start_offset=20, leader_epoch=3)
    admin = SimpleNamespace(
        leaders=lambda _topic: {1: 2},
        find_coordinator=lambda _group: 3,
        describe=lambda *_: (None, found),
        start_offset=lambda *_: begin,
        end_offset=lambda *_: 80,
    )
    nodes = SimpleNamespace(ask=lambda question, _id=None: question(admin))
    rest = cluster_run.leaders_at_rest(nodes, "h")  # type: ignore[arg-type] # it asks alone
    start = max(begin, 20)
    assert rest[-1] == LeaderAtRest(1, 80, 3, start, 80, 80 - start - left)
    assert rest[:-1] == ([RecordsDeleted(1, begin)] if begin else [])


def test_judging_needs_what_nodes_left(tmp_path: Path) -> None:
    run_ = ClusterRun(7, groups(), (), tmp_path)
    with pytest.raises((TargetError, ValueError)):
        judge_cluster(run_)
