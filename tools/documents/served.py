"""The table of the APIs that ``sharespec serve`` serves, in ``docs/serve.md``."""

from report import markdown
from serve.apis import APIS


def table() -> str:
    """Return the table: each API with its number and versions."""
    rows = (
        (api.name.title().replace("_", ""), f"{number}", "–".join(map(str, versions)))
        for number, api in sorted(APIS.items())
        for versions in (dict.fromkeys((api.lowest, api.highest)),)
    )
    return markdown.table(("API", "Number", "Versions"), rows)
