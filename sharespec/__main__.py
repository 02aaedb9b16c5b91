"""The console script, ``python -m sharespec``, and the file that ``spark-submit`` runs.

It imports nothing that takes time before it can be interrupted.
"""

import sys

TYPE_CHECKING = False  # `typing` takes longer to load than what is here.
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED = 130
"""The status after Ctrl-C, as ``sharespec.exit.Exit`` has it, which takes longer to load."""


def interrupted() -> "NoReturn":
    """Say that Ctrl-C has ended this, and exit."""
    sys.stderr.write("sharespec: interrupted\n")
    sys.exit(INTERRUPTED)


def main() -> None:
    """Run the command line."""
    try:
        from sharespec.cli import main as run  # noqa: PLC0415 - takes longer than a keystroke

        run()
    except KeyboardInterrupt:
        interrupted()


if __name__ == "__main__":
    main()
