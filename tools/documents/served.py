"""The table of the APIs that ``sharespec serve`` serves, in ``docs/serve.md``."""

from serve.apis import APIS


def table() -> str:
    """Return the table: each API with its number and versions."""
    lines = ["| API | Number | Versions |", "|---|---|---|"]
    for number, api in sorted(APIS.items()):
        name = "".join(word.capitalize() for word in api.name.split("_"))
        versions = str(api.lowest) if api.lowest == api.highest else f"{api.lowest}–{api.highest}"
        lines.append(f"| {name} | {number} | {versions} |")
    return "\n".join(lines)
