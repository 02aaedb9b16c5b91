"""What the GitHub Action hands on: outputs on stdout, annotations on stderr, of ``--json``."""

import json
import sys
from pathlib import Path

ANNOTATIONS = 10
"""How many of a step GitHub shows."""


def main() -> None:
    """Read the lines of the file that is named; an empty one leaves the verdict unknown."""
    lines = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    new = {line["group"]: line for line in reversed(lines) if line["kind"] == "new"}
    known = [line for line in lines if line["kind"] == "known"]
    told = [(new[n]["cause"], f"{new[n]['sentence']}\n{new[n]['again']}") for n in sorted(new)]
    told += [(line["name"], "known, and shows no more") for line in known if not line["shows"]]
    for title, text in told[:ANNOTATIONS]:
        sys.stderr.write(f"::error title={_escaped(title, ':,')}::{_escaped(text)}\n")
    (verdict,) = [line["verdict"] for line in lines if line["kind"] == "summary"] or ["unknown"]
    shown = sum(line["shows"] for line in known)
    sys.stdout.write(f"new={len(new)}\nknown={shown}\nverdict={verdict}\n")


def _escaped(text: str, more: str = "") -> str:
    """Return a text as commands of a workflow take it: nothing in it ends one or begins another."""
    return "".join(f"%{ord(sign):02X}" if sign in f"%\r\n{more}" else sign for sign in text)


if __name__ == "__main__":
    main()
