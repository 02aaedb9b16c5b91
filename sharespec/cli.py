"""The command ``sharespec``: which commands there are, each imported when it is called."""

import os
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from sharespec.__main__ import interrupted

COMMANDS = {
    "replay": "Check recorded traces against the rules.",
    "watch": "Check recorded traces as they come into a folder.",
    "convert": "Write a recording in another form.",
    "explain": "Step through one share-partition of a trace.",
    "view": "Draw one share-partition of a trace as a page.",
    "describe": "Print offsets and lag as Kafka's own command should.",
    "in-flight": "Show the records in flight and those that seem stuck.",
    "state-topic": "Read and check a dump of __share_group_state.",
    "doctor": "Ask a cluster how its share groups can be recorded.",
    "generate": "Write large synthetic traces.",
    "verify": "Search an implementation for what no rule allows.",
    "verify-client": "Search a share consumer for what no client may do.",
    "serve": "Serve the specification as a Kafka broker on this machine.",
    "vectors": "Write the test vectors, or check that they are current.",
    "simulate": "Run clusters of Kafka's own classes under faults.",
    "cluster": "Run a real cluster of brokers under faults.",
    "prove": "Prove the theorems about the rules with Z3.",
    "refine": "Compare implementation and specification for whole small sizes.",
    "explore": "Visit every state of a small world.",
    "drift": "Show what a newer text of a KIP changes.",
    "hazards": "Show the hazards of the draft KIP for IN_PROGRESS.",
}
"""The commands as ``--help`` lists them; each is a module of ``sharespec.commands``."""


_OWN_PROCESS = "own process"
"""The object of click's context where the process ends with the command."""


class _Commands(click.Group):
    """Imports a command when it is called: Z3, Spark and Numba take seconds to load."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            if hint := did_you_mean(cmd_name, COMMANDS):
                ctx.fail(f"No such command {cmd_name!r}.{hint}")
            return None
        name = cmd_name.replace("-", "_")
        try:
            module = import_module(f"sharespec.commands.{name}")
        except ModuleNotFoundError as error:
            _fail_without_extra(error, cmd_name)
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; what is missing of an extra, and Ctrl-C, is told in one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # Click would exit with 1.
            interrupted()
        except ModuleNotFoundError as error:
            _fail_without_extra(error, str(ctx.invoked_subcommand))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command, or an option, and import no command for it."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        items = [CompletionItem(name, help=COMMANDS[name]) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return a question that names the words most like this one, in capitals or not, or nothing."""
    known = {each.casefold(): each for each in words}
    close = [known[each] for each in get_close_matches(word.casefold(), known)]
    return f" Did you mean {' or '.join(close)}?" if close else ""


def _fail_without_extra(error: ModuleNotFoundError, command: str) -> NoReturn:
    """Exit with one line if what is missing is of an extra, else raise the error again."""
    from sharespec.exit import fail  # noqa: PLC0415 - --help loads nothing slow
    from sharespec.extras import what_to_install  # noqa: PLC0415 - as above

    text = what_to_install(error, command)
    if text is None:
        raise error
    fail(text)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(package_name="sharespec", message="%(prog)s %(version)s")
def cli() -> None:
    """Check share groups of Apache Kafka against an executable specification."""


def is_own_process() -> bool:
    """Return whether nothing else uses this process: it ends with the command that runs."""
    return bool(click.get_current_context().obj == _OWN_PROCESS)


def main() -> None:
    """Run the command line."""
    # What is closed stays so for us, and no file that is opened later gets its number.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - open to the end
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as above
    if sys.stdout is None:
        from sharespec.exit import fail  # noqa: PLC0415 - --help loads nothing slow

        fail("the standard output is closed; allowed: an open one, perhaps /dev/null")
    # kio loads Hypothesis where it is installed, which leaves `.hypothesis/` in this folder.
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type] # forbids it
    try:
        cli.main(prog_name="sharespec", obj=_OWN_PROCESS)
    except OSError as error:
        # What click itself prints, such as --help: what commands print is theirs to handle.
        from sharespec.exit import fail, problem_of  # noqa: PLC0415 - --help loads nothing slow

        fail(problem_of(error))
