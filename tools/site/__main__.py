"""``python -m tools.site``: write the pages of the site, and build it with MkDocs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from tools.site.documents import ROOT, documents
from tools.site.rules import pages, rules

STYLE = """
.md-grid { max-width: 90rem; }
.beside { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 1.5rem; }
.beside > div { min-width: 0; }
@media (max-width: 60em) { .beside { grid-template-columns: minmax(0, 1fr); } }
"""


def site() -> dict[str, str]:
    """Return every page, by path in the site."""
    return {**documents(), **pages()}


def configuration(found: dict[str, str]) -> dict[str, Any]:
    """Return the configuration of MkDocs; every page has its place in the navigation."""
    of = {folder: [name for name in found if name.startswith(f"{folder}/")] for folder in _FOLDERS}
    plain = [name for name in found if "/" not in name and name not in ("index.md", *_LAST)]
    return {
        "site_name": "sharespec",
        "docs_dir": "pages",
        "site_dir": "site",
        "use_directory_urls": False,  # The site can be read from a folder, without a server.
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.indexes", "toc.follow", "search.highlight"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
            ],
        },
        "extra_css": ["style.css"],
        "plugins": ["search"],
        "markdown_extensions": [
            *("attr_list", "md_in_html", "tables"),
            *("pymdownx.highlight", "pymdownx.superfences"),
        ],
        "validation": {"links": {"anchors": "warn", "absolute_links": "warn"}},
        "nav": [
            {"sharespec": "index.md"},
            {"The specification": [{_module(name): name} for name in of["spec"]]},
            {"The KIPs": of["kips"]},
            {"Findings": of["findings"]},
            {"Documents": plain},
            *_LAST,
        ],
    }


_FOLDERS = ("spec", "kips", "findings")
_LAST = ("contributing.md", "changelog.md", "security.md")


def _module(page: str) -> str:
    stem = Path(page).stem
    return "Overview" if stem == "index" else stem


def write(folder: Path) -> int:
    """Write the pages and the configuration into a folder; return how many pages there are."""
    found = site()
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in found.items():
        page = folder / "pages" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for picture in (ROOT / "docs").glob("*.svg"):
        shutil.copy(picture, folder / "pages" / picture.name)
    (folder / "pages" / "style.css").write_text(STYLE, encoding="utf-8")
    text = json.dumps(configuration(found), indent=1)  # YAML has JSON in it.
    (folder / "mkdocs.yml").write_text(text, encoding="utf-8")
    return len(found)


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=ROOT / "out" / "site",
    help="The folder, which is emptied first; its part `site` is the site.",
)
@click.option("--pages", "only_pages", is_flag=True, help="Write the pages; build nothing.")
def main(*, out: Path, only_pages: bool) -> None:
    """Build the documentation site; a link that leads nowhere is an error."""
    click.echo(f"{write(out)} pages, {sum(map(len, rules().values()))} rules in {out / 'pages'}")
    if only_pages:
        return
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(  # noqa: S603 - our own
        [*build, str(out / "mkdocs.yml")], env=environment, check=False
    )
    if not done.returncode:
        click.echo(out / "site" / "index.html")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main(prog_name="python -m tools.site")
