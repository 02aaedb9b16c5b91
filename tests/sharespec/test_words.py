"""What commands say of themselves, of mistakes and of events, as one file for who reads it.

``python -m tests.sharespec.test_words`` writes the file anew. Who adds a mistake puts the line
``$ sharespec ...`` into it before.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from sharespec.cli import COMMANDS, cli
from tests.replay.samples import ABORTED, DRAFT, kafka_rows, write_lines

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "words.txt"
ASKED = "$ sharespec "


def shown(line: str) -> str:
    """Return a command line with what it tells the user; of its usage only with ``--help``."""
    result = CliRunner().invoke(cli, shlex.split(line), prog_name="sharespec")
    assert result.exception is None or isinstance(result.exception, SystemExit), line
    status = f"[{result.exit_code}]\n" if result.exit_code else ""
    told = re.sub(r"Usage: .*?\n\n(?=Error: )", "", result.stderr, flags=re.DOTALL)
    return f"{ASKED}{line}\n{told if result.exit_code else result.stdout}{status}\n"


def text(folder: Path) -> Iterator[str]:
    """Yield what is told, with the files of the mistakes in the folder, which is the current."""
    lines = GOLDEN.read_text().splitlines()
    asked = [line.removeprefix(ASKED) for line in lines if line.startswith(ASKED)]
    write_lines(folder / "trace.jsonl", kafka_rows())
    for path in (DRAFT, ABORTED):
        shutil.copy(path, folder)
    for name in ("text.jsonl", "text.parquet"):
        folder.joinpath(name).write_text("good morning\n")
    folder.joinpath("empty").mkdir()
    for line in (line for line in asked if not line.endswith("--help")):
        yield shown(line).replace(f"{folder}/", "")
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
