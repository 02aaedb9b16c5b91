"""The table of the APIs that ``sharespec serve`` serves, in ``docs/serve.md``."""

from collections.abc import Iterator

from serve.apis import APIS
from tools.documents.parts import with_part

BEGIN = "<!-- served: written by `python -m tools.documents` -->"
END = "<!-- end served -->"


def table() -> Iterator[str]:
    """Yield the lines of the table: each API with its number and versions."""
    yield "| API | Number | Versions |"
    yield "|---|---|---|"
    for number, api in sorted(APIS.items()):
        name = "".join(word.capitalize() for word in api.name.split("_"))
        versions = str(api.lowest) if api.lowest == api.highest else f"{api.lowest}–{api.highest}"
        yield f"| {name} | {number} | {versions} |"


def with_served(document: str) -> str:
    """Return the document with the table as the APIs are now."""
    return with_part(document, BEGIN, END, "\n".join(table()))
