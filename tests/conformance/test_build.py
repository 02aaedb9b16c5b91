"""Programs in other languages: built once for the same sources, and what is missing is told."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance.build import Recipe, build
from conformance.target import TargetError

RECIPE = Recipe("it", "a tool", ("tool", "all"), ("*.src", "more/**/*.src"), "out", 30)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "more" / "deep").mkdir(parents=True)
    (tmp_path / "a.src").write_text("a")
    (tmp_path / "more" / "deep" / "b.src").write_text("b")
    return tmp_path


def tool(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str | None) -> None:
    folder.mkdir()
    if script is not None:
        (folder / "tool").write_text(f"#!{sys.executable}\n{script}\n")
        (folder / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_it_is_built_once_for_the_same_sources(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    tool(monkeypatch, project / "bin", "import sys; open('builds', 'a').write(sys.argv[1])")
    for _ in range(2):
        build(project, RECIPE)
    assert (project / "builds").read_text() == "all"
    later = (project / "out" / "built").stat().st_mtime + 5
    os.utime(project / "more" / "deep" / "b.src", (later, later))
    build(project, RECIPE)
    assert (project / "builds").read_text() == "allall"


def test_of_several_at_once_one_builds_and_the_others_wait(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    script = "import time; open('builds', 'a').write('all'); time.sleep(0.5); open('done', 'w')"
    tool(monkeypatch, project / "bin", script)

    def built() -> bool:
        build(project, RECIPE)
        return (project / "done").exists()

    with ThreadPoolExecutor(3) as threads:
        assert all(one.result() for one in [threads.submit(built) for _ in range(3)])
    assert (project / "builds").read_text() == "all"


def test_a_missing_tool_is_reported(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    tool(monkeypatch, project / "bin", None)
    with pytest.raises(TargetError, match=r"^it needs a tool: there is no tool on the path$"):
        build(project, RECIPE)


def test_a_failure_is_quoted_and_repeated(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    tool(monkeypatch, project / "bin", "import sys; sys.exit('registry not found')")
    for _ in range(2):
        with pytest.raises(TargetError, match=r"^tool could not build it: registry not found$"):
            build(project, RECIPE)


def test_a_silent_failure_shows_its_status(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    tool(monkeypatch, project / "bin", "import sys; sys.exit(3)")
    with pytest.raises(TargetError, match="exit status 3"):
        build(project, RECIPE)


def test_a_build_times_out(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    tool(monkeypatch, project / "bin", "import time; time.sleep(900)")
    slow = Recipe("it", "a tool", ("tool",), ("*.src",), "out", 0.2)
    with pytest.raises(TargetError, match=r"tool was not done after 0\.2 s"):
        build(project, slow)
