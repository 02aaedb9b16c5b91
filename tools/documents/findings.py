"""The table of findings: what was found, in what, and the command that shows it again."""

from collections.abc import Mapping, Sequence

from conformance.known import Known

__all__ = ["BEGIN", "END", "findings_table", "with_table"]

BEGIN = "<!-- begin: findings -->"
END = "<!-- end: findings -->"


def findings_table(known: Mapping[str, Sequence[Known]], where: Mapping[str, str]) -> str:
    """Return a Markdown table: a row for each known deviation, by the name of its target.

    ``where`` says for each target which implementation and version it is.
    """
    rows = [
        f"| {one.title} | {where[target]} | {one.reason} "
        f"| `sharespec verify {target} --only {one.name}` |"
        for target, listed in known.items()
        for one in listed
    ]
    head = "| What it does | Implementation | Verdict | Seen again with |\n|---|---|---|---|"
    return "\n".join((head, *rows))


def with_table(text: str, table: str) -> str:
    """Return a document with the table between its marks. Raises ValueError if they are missing."""
    before, begin, rest = text.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"
