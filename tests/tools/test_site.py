"""The site, by the command that builds it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.site import ROOT, site_links


def built(configuration: Path, folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(
        [*command, "--config-file", str(configuration), "--site-dir", str(folder)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


def test_every_link_of_the_documents_leads_somewhere(tmp_path: Path) -> None:
    status, told = built(ROOT / "mkdocs.yml", tmp_path)
    assert status == 0, told
    front = (tmp_path / "index.html").read_text()
    assert 'src="states.svg"' in front
    assert 'href="spec/record.html"' in front
    assert "fonts.googleapis" not in front
    assert 'id="what---out-receives"' in (tmp_path / "replay.html").read_text()
    assert '<span class="nf">release</span>' in (tmp_path / "spec" / "record.html").read_text()


@pytest.mark.parametrize("target", ["nowhere.md", "index.md#nothing-of-it", "/nowhere.md"])
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, target: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# A page\n\n[a link]({target})\n")
    configuration = tmp_path / "mkdocs.yml"
    configuration.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: docs\nhooks: []\n")
    status, told = built(configuration, tmp_path / "site")
    assert status == 1
    assert target in told


@pytest.mark.parametrize(
    ("page", "line", "expected"),
    [
        ("index.md", "[x](docs/replay.md#b)", "[x](replay.md#b)"),
        ("replay.md", "[x](../README.md), [`y`](verify.md)", "[x](index.md), [`y`](verify.md)"),
        ("findings/kfake.md", "[x](../../spec/record.py)", "[x](../spec/record.md)"),
        ("findings/kfake.md", "[x](../replay.md#y)", "[x](../replay.md#y)"),
        ("replay.md", "[x](../tests/test_documents.py) and [y](#z)", "x and [y](#z)"),
        ("replay.md", "[x](../nowhere.py)", "[x](nowhere.py)"),
        ("replay.md", "[x](https://example.org/a)", "[x](https://example.org/a)"),
        ("index.md", "![A picture](docs/states.svg)", "![A picture](states.svg)"),
        ("replay.md", "    [x](../Makefile)", "    [x](../Makefile)"),
        ("replay.md", "`[x](../Makefile)`", "`[x](../Makefile)`"),
        ("replay.md", "```\n[x](../Makefile)\n```", "```\n[x](../Makefile)\n```"),
    ],
)
def test_links_are_those_of_the_site(page: str, line: str, expected: str) -> None:
    assert site_links(line, page) == expected
