"""What commands say of themselves and of common mistakes, as one file for who reads it.

``python -m tests.sharespec.test_words`` writes the file anew.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from sharespec.cli import COMMANDS, cli
from tests.replay.samples import kafka_rows, write_lines

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "words.txt"

MISTAKES = """
repaly trace.jsonl
replay
replay --colour trace.jsonl
replay nowhere
replay empty
replay text.jsonl
replay text.parquet
replay trace.jsonl --profile kafak
replay trace.jsonl --against rules
replay trace.jsonl --html nowhere/page.html
explain trace.jsonl --offset 99999
explain trace.jsonl --from 10 --to 5
explain trace.jsonl --from 1000
view trace.jsonl --partition core:orders:9
describe trace.jsonl --group code
in-flight trace.jsonl --only-state acquire
metrics trace.jsonl --from 10 --to 5
convert trace.jsonl --out nowhere/trace.parquet
state-topic text.jsonl
watch nowhere --state states
verify
verify kafka-brocker
verify spec --vector locks
verify --exec none --play {
verify --exec none
verify --exec none --profile kafka
verify --bootstrap localhost
verify-client librdkafak
serve --listen localhost
vectors nowhere --check
hazards --with sentence
prove --only nothing
drift nowhere
generate trace.jsonl/more
"""
"""Command lines, each with something wrong in it."""


def shown(line: str) -> str:
    """Return a command line with what it tells the user."""
    result = CliRunner().invoke(cli, shlex.split(line), prog_name="sharespec")
    assert result.exception is None or isinstance(result.exception, SystemExit), line
    status = f"[{result.exit_code}]\n" if result.exit_code else ""
    return f"$ sharespec {line}\n{result.stderr if result.exit_code else result.stdout}{status}\n"


def text(folder: Path) -> Iterator[str]:
    """Yield what is told, with the files of the mistakes in the folder, which is the current."""
    write_lines(folder / "trace.jsonl", kafka_rows())
    for name in ("text.jsonl", "text.parquet"):
        folder.joinpath(name).write_text("good morning\n")
    folder.joinpath("empty").mkdir()
    yield from (shown(line).replace(f"{folder}/", "") for line in MISTAKES.strip().splitlines())
    yield from map(shown, ("--help", *(f"{name} --help" for name in COMMANDS)))


def test_the_words_are_those_of_the_file(tmp_path: Path) -> None:
    """In a process of its own, as click keeps the options of a command that a test has called."""
    told = tmp_path / "words.txt"
    environment = {**os.environ, "COLUMNS": "80"}
    subprocess.run([sys.executable, "-m", __name__, str(told)], env=environment, check=True)
    assert told.read_text() == GOLDEN.read_text(), f"write it anew: python -m {__name__}"


if __name__ == "__main__":
    written = Path(sys.argv[1]) if sys.argv[1:] else GOLDEN
    with TemporaryDirectory() as here:
        os.chdir(here)
        written.write_text("".join(text(Path(here))))
