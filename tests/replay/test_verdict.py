from replay.verdict import Counts, PartitionVerdict, Problem, Verdict, counted


def test_share_partitions_and_unreadable_files_are_counted_once() -> None:
    verdicts = [
        PartitionVerdict("a", Verdict.CONFORMS, 10, 10),
        PartitionVerdict("b", Verdict.DIVERGES, 10, 3),
        PartitionVerdict("c", Verdict.UNREADABLE, 10, 5),
        PartitionVerdict("d", Verdict.UNCHECKED, 10, 0),
    ]
    problems = [
        Problem("x", None, "damaged"),
        Problem("x", 7, "bad line"),
        Problem("y", 7, "bad line", "c"),
    ]
    assert counted(verdicts, problems) == Counts(
        events=40, checked=18, partitions=4, conforms=1, diverged=1, unreadable=2, unchecked=1
    )
    assert counted([], []) == Counts(0, 0, 0, 0, 0, 0, 0)
