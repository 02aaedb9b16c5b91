import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import sharespec
from sharespec.__main__ import INTERRUPTED
from sharespec.cli import COMMANDS, cli
from sharespec.exit import Exit

STATE_TOPIC = Path(__file__).parents[1] / "data" / "observed" / "state-topic.txt.gz"
SHOWN = ["state-topic", str(STATE_TOPIC)]


def test_help_explains_every_option() -> None:
    """How it reads is in tests/data/golden/words.txt."""
    commands = {name: cli.get_command(click.Context(cli), name) for name in COMMANDS}
    options = [
        (name, each) for name, command in commands.items() if command for each in command.params
    ]
    assert {name for name, _ in options} == set(COMMANDS)
    assert [o for o in options if isinstance(o[1], click.Option) and not o[1].help] == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("sharespec ve", ["verify", "verify-client", "vectors"]),
        ("sharespec --v", ["--version"]),
        ("sharespec verify --sec", ["--seconds"]),
        ("sharespec verify --profile k", ["kip", "kafka"]),
    ],
)
def test_a_shell_completes_commands_options_and_values(words: str, expected: list[str]) -> None:
    code = (
        "import sys\n"
        "from sharespec.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print([n for n in sys.modules if n.startswith('sharespec.commands.')])\n"
    )
    environment = {
        **os.environ,
        "_SHARESPEC_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    *lines, loaded = done.stdout.splitlines()
    assert [line.removeprefix("plain,") for line in lines] == expected
    if len(expected) > 2:
        assert loaded == "[]"  # Names take no import, which takes seconds.


def test_children_may_import_the_file_that_spark_submit_runs() -> None:
    path = Path(sharespec.__path__[0], "__main__.py")
    assert "main" in runpy.run_path(str(path), run_name="__mp_main__")


def test_the_public_names_can_be_imported() -> None:
    names: dict[str, object] = {}
    exec("from sharespec import *", names)  # noqa: S102 - what a user writes
    assert {"KAFKA", "Plan", "Replay", "open_session", "replay_sources"} <= names.keys()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["verify-client", "--help"], SHOWN]
)
def test_what_cannot_be_printed_is_one_line_and_nothing_is_left_in_the_current_folder(
    arguments: list[str], tmp_path: Path
) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sharespec", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert (done.returncode, done.stderr) == (2, "sharespec: No space left on device\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["--help"], SHOWN])
def test_who_closed_the_output_is_told_so_and_nothing_else(arguments: list[str]) -> None:
    command = shlex.join([sys.executable, "-m", "sharespec", *arguments])
    done = subprocess.run(
        ["/bin/sh", "-c", f"{command} >&-"], stderr=subprocess.PIPE, text=True, check=False
    )
    text = "sharespec: the standard output is closed; allowed: an open one, perhaps /dev/null\n"
    assert (done.returncode, done.stderr) == (2, text)
    deaf = subprocess.run(
        ["/bin/sh", "-c", f"{command} <&- 2>&-"], check=False, capture_output=True
    )
    assert (deaf.returncode, bool(deaf.stdout)) == (0, True)


@pytest.mark.parametrize("arguments", [SHOWN, ["explore", "--list"]])
def test_a_reader_that_has_enough_is_no_error(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "sharespec", *arguments]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


_CTRL_C = """
import signal, sys
where = sys.argv[1]
class Interrupting:
    def find_spec(self, name, *_):
        if name == where:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from sharespec.__main__ import main
sys.argv = ["sharespec", *sys.argv[2:]]
main()
"""


@pytest.mark.parametrize(
    "while_importing",
    ["sharespec.cli", "click", "sharespec.commands.state_topic", "model.state_topic", "nothing"],
)
def test_who_is_interrupted_while_it_starts_says_so_in_one_line(while_importing: str) -> None:
    command = [sys.executable, "-c", _CTRL_C, while_importing, *SHOWN]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    ended = (0, "") if while_importing == "nothing" else (130, "sharespec: interrupted\n")
    assert (done.returncode, done.stderr) == ended
    assert Exit.INTERRUPTED == INTERRUPTED
