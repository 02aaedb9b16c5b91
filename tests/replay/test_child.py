"""A Parquet file that ends PyArrow is unreadable, and nothing else is."""

import lzma
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from replay import gather as survey_module
from replay.gather import DEADLY, in_child, survey, surveyed
from replay.sources import find_sources
from replay.verdict import Verdict
from sharespec.commands.convert import convert_command
from sharespec.commands.view import view_command
from tests.replay.samples import FAST, kafka_rows, replayed, write_parquet

ENDS_PYARROW = Path("tests/data/ends-pyarrow.parquet.xz")
"""Of 1,500 files with one to four wrong bytes in the footer the one that ends PyArrow 26.0."""


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.parquet"
    path.write_bytes(lzma.decompress(ENDS_PYARROW.read_bytes()))
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_parquet(tmp_path / "good.parquet", kafka_rows(partition=1, count=20))


def test_the_good_files_beside_a_damaged_one_get_their_verdicts(damaged: Path, good: Path) -> None:
    found = replayed(damaged, good, plan=FAST)
    assert [verdict.verdict for verdict in found.verdicts] == [Verdict.CONFORMS]
    (problem,) = found.problems
    assert problem.source == str(damaged)


def run(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])  # type: ignore[arg-type] # a command


def test_commands_on_a_damaged_file_say_so_in_one_line(damaged: Path, good: Path) -> None:
    out = damaged.with_name("out.jsonl")
    for result in (run(view_command, damaged), run(convert_command, damaged.parent, "--out", out)):
        assert result.exit_code in (1, 2), result.output
        assert damaged.name in result.output
    assert len(out.read_text().splitlines()) == 20, good


def test_each_file_that_ends_its_process_is_passed_over(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = find_sources(
        [good, *(write_parquet(good.with_name(f"{n}.parquet"), kafka_rows()) for n in range(4))]
    ).files
    read = survey_module.opened

    def ends(path: str) -> object:
        if Path(path).name in ("1.parquet", "2.parquet"):
            os.abort()
        return read(path)

    expected = [survey(source) for source in sources]
    monkeypatch.setattr(survey_module, "opened", ends)
    found = list(surveyed(sources))
    for source, each, wanted in zip(sources, found, expected, strict=True):
        dead = Path(source.path).name in ("1.parquet", "2.parquet")
        assert (each.problem and each.problem.message) == (DEADLY if dead else None)
        assert dead or each == wanted


def test_what_a_child_raises_is_raised_behind_what_it_has_done() -> None:
    def work() -> Iterator[int]:
        yield 1
        raise MemoryError("too much")

    answers = in_child(work)
    assert next(answers) == 1
    with pytest.raises(MemoryError, match="too much"):
        next(answers)
