"""An error of the system is one line, and an input that is closed has nothing in it."""

import importlib
import pkgutil
import subprocess
import sys

from sharespec import commands
from sharespec.cli import COMMANDS
from sharespec.exit import Exit


def test_every_command_ends_with_one_line_for_an_error_of_the_system() -> None:
    modules = {module.name for module in pkgutil.iter_modules(commands.__path__)} - {"options"}
    assert modules == {name.replace("-", "_") for name in COMMANDS}
    for name in modules:
        module = importlib.import_module(f"sharespec.commands.{name}")
        command = getattr(module, f"{name}_command")
        # contextlib has the decorated function so; click wraps nothing.
        assert hasattr(command.callback, "__wrapped__"), f"{name} has no exits_on"


def test_a_closed_input_has_nothing_in_it() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m sharespec state-topic - <&-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == Exit.COULD_NOT_RUN, done
    assert len(done.stderr.splitlines()) == 1
