"""What a planted fault is put through: the lockstep driver, for a bounded number of steps.

Run as ``python -m tests.kill``: prints what was noticed and exits 1, or exits 0.
"""

import sys

from tests.lockstep.driver import drive

STEPS = 20_000


def main() -> int:
    """Return 1, and print the first thing that is wrong, or 0."""
    try:
        drive(seed=1, steps=STEPS)
    except Exception as error:  # noqa: BLE001 - a fault may break anything
        print(f"{type(error).__name__}: {str(error)[:300]}")  # noqa: T201 - it is a program
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
