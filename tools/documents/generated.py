"""Every generated part of the documents, and whether it is current."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from proofs.hazards import review
from proofs.hazards.together import all_together
from tools import rooms
from tools.documents import (
    client_rules,
    coverage,
    findings,
    profiles,
    promises,
    properties,
    recall,
    served,
    versions,
)
from tools.documents.parts import with_parts

ROOT = Path(__file__).parents[2]

Rewrite = Callable[[str], str]
"""From the text of a document to the same text with its generated parts as they are now."""


def _parts(**parts: Callable[[], str]) -> Rewrite:
    """Return what rewrites the parts of these names, where ``_`` stands for a space."""
    return lambda text: with_parts(text, {n.replace("_", " "): p() for n, p in parts.items()})


def _review(text: str) -> str:
    return with_parts(text, review.parts(review.examine_all(), all_together()))


DOCUMENTS: Mapping[str, Rewrite] = {
    "CONTRIBUTING.md": _parts(packages=rooms.table),
    "README.md": _parts(track_record=findings.track_record),
    "docs/client-rules.md": _parts(duties=client_rules.duties),
    "docs/coverage.md": _parts(
        totals=coverage.totals, sections=coverage.sections, not_covered=coverage.not_covered
    ),
    "docs/findings/README.md": _parts(findings=findings.findings_table),
    "docs/profiles.md": _parts(rules=profiles.rules_table, defects=profiles.defects_table),
    "docs/promises.md": _parts(
        summary=promises.summary,
        routes=promises.routes,
        promises=promises.sections,
        brokers=promises.brokers,
        request_logs=promises.request_logs,
    ),
    "docs/proofs.md": _parts(
        proved_properties=properties.properties_table,
        summary_of_proved_properties=properties.summary_table,
    ),
    "docs/recall.md": _parts(total=recall.total, parts=recall.sections),
    "docs/serve.md": _parts(served=served.table),
    "docs/versions.md": _parts(releases=versions.sections),
}
"""The documents with generated parts that take no search, by path."""

SEARCHED: Mapping[str, Rewrite] = {
    "docs/in-progress-review.md": _review,
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
