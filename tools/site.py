"""What MkDocs needs to know of this repository: a hook of ``mkdocs.yml``.

The documents link to each other and to files as GitHub shows them. Their pages have links to what
the site has: the documents, their pictures, and each module of ``spec`` as it is written.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]

_TOP = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
_CODE_OR_LINK = re.compile(
    r"^```.*?^```|^    .*?$|`[^`\n]+`|(!?\[([^\]\n]+)\])\(([^)#\s]+)((?:#[^)\s]*)?)\)",
    re.MULTILINE | re.DOTALL,
)
_ELSEWHERE = re.compile(r"[a-z]+:")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in ``docs``."""
    for source, page in _outside().items():
        text = (ROOT / source).read_text(encoding="utf-8")
        if source.endswith(".py"):
            name = source.removesuffix(".py").replace("/", ".")
            text = f'# {name.removesuffix(".__init__")}\n\n````python linenums="1"\n{text}````\n'
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let the links of a page lead to pages of the site; those to other files become text."""
    del config, files
    return site_links(markdown, page.file.src_uri)


def site_links(markdown: str, page: str) -> str:
    """Return a page whose links are those of the site, where ``page`` is its place in it."""
    outside = _outside()
    source = {place: path for path, place in outside.items()}.get(page, f"docs/{page}")

    def link(match: re.Match[str]) -> str:
        text, words, target, anchor = match.groups()
        if text is None or _ELSEWHERE.match(target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = outside.get(path, path.removeprefix("docs/"))
        if path not in outside and not path.startswith("docs/") and (ROOT / path).exists():
            return str(words)
        return f"{text}({posixpath.relpath(place, posixpath.dirname(page) or '.')}{anchor})"

    return _CODE_OR_LINK.sub(link, markdown)


def _outside() -> dict[str, str]:
    """Return the place in the site of each file that is not in ``docs``."""
    modules = (path.relative_to(ROOT) for path in (ROOT / "spec").glob("*.py"))
    return _TOP | {str(path): _page(path) for path in sorted(modules)}


def _page(module: Path) -> str:
    return str(module.with_name("index.md" if module.stem == "__init__" else f"{module.stem}.md"))
