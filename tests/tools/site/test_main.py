"""The whole site, by the command that builds it; MkDocs is of the extra docs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.site import __main__ as command
from tools.site.__main__ import main

MKDOCS = "MkDocs is not installed: pip install 'sharespec[docs]'"


def test_the_pages_are_written_without_mkdocs(tmp_path: Path) -> None:
    (tmp_path / "site" / "old").mkdir(parents=True)
    done = CliRunner().invoke(main, ["--out", str(tmp_path / "site"), "--pages"])
    assert done.exit_code == 0
    assert "pages, " in done.output
    assert not (tmp_path / "site" / "old").exists()
    assert (tmp_path / "site" / "pages" / "spec" / "record.md").is_file()
    assert (tmp_path / "site" / "pages" / "states.svg").is_file()
    assert json.loads((tmp_path / "site" / "mkdocs.yml").read_text())["site_name"] == "sharespec"


@pytest.mark.slow
def test_mkdocs_builds_it_and_has_nothing_to_warn_of(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason=MKDOCS)
    done = CliRunner().invoke(main, ["--out", str(tmp_path / "site")])
    assert done.exit_code == 0
    record = (tmp_path / "site" / "site" / "spec" / "record.html").read_text()
    assert 'class="beside"' in record
    assert 'href="../kips/kip-932.html#in-flight-records"' in record
    assert 'id="release"' in record
    front = (tmp_path / "site" / "site" / "index.html").read_text()
    assert "fonts.googleapis" not in front


@pytest.mark.slow
def test_a_link_that_leads_nowhere_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mkdocs", reason=MKDOCS)
    pages = {"index.md": "# x { #x }\n\n[x](y.md#z)\n", "y.md": "# y { #y }\n"}
    monkeypatch.setattr(command, "site", lambda: pages)
    assert CliRunner().invoke(main, ["--out", str(tmp_path / "site")]).exit_code == 1
