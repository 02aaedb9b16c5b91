"""Every generated part of the documents, and whether it is current."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from proofs.hazards.catalogue import HAZARDS
from proofs.hazards.hazard import examine
from proofs.hazards.review import review
from proofs.hazards.together import all_together
from tools import rooms
from tools.documents import client_rules, coverage, profiles, promises
from tools.documents.findings import with_findings, with_track_record
from tools.documents.parts import with_part
from tools.documents.pictures import packages_picture, states_picture
from tools.documents.properties import with_summary, with_table
from tools.documents.served import with_served

ROOT = Path(__file__).parents[2]

Rewrite = Callable[[str], str]
"""From the text of a document to the same text with its generated parts as they are now."""


def _proofs(text: str) -> str:
    register = ROOT.joinpath("docs", "properties.md").read_text(encoding="utf-8")
    return with_table(with_summary(text, register))


def _packages(text: str) -> str:
    return with_part(text, "<!-- begin: packages -->", "<!-- end: packages -->", rooms.table())


DOCUMENTS: Mapping[str, Rewrite] = {
    "CONTRIBUTING.md": _packages,
    "README.md": with_track_record,
    "docs/client-rules.md": lambda _text: client_rules.document(),
    "docs/coverage.md": lambda _text: coverage.document(),
    "docs/findings/README.md": with_findings,
    "docs/packages.svg": lambda _text: packages_picture(),
    "docs/profiles.md": lambda _text: profiles.document(),
    "docs/promises.md": lambda _text: promises.document(),
    "docs/proofs.md": _proofs,
    "docs/serve.md": with_served,
    "docs/states.svg": lambda _text: states_picture(),
}
"""The documents with generated parts that take no search, by path."""

SEARCHED: Mapping[str, Rewrite] = {
    "docs/in-progress-review.md": lambda _text: review([*map(examine, HAZARDS)], all_together()),
}
"""Those whose content a search finds, in about half a minute."""


def changed(documents: Mapping[str, Rewrite], root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Yield each document that is not current, as a path below ``root``, with its new text."""
    for name, rewrite in documents.items():
        path = root / name
        text = path.read_text(encoding="utf-8")
        new = rewrite(text)
        if new != text:
            yield path, new
