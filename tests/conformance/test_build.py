"""Programs in other languages: built once for the same sources, and what is missing is told."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import attrs
import pytest

from conformance import build as module
from conformance.build import BuildRecipe, build, cached_copy
from conformance.target import TargetError

RECIPE = BuildRecipe("it", "a tool", ("tool", "all"), ("*.src", "more/**/*.src"), "out", 30)


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


def test_nothing_stays_of_a_build_that_fails(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    tool(monkeypatch, project / "bin", "import sys; open('out/half', 'w'); sys.exit(1)")
    with pytest.raises(TargetError, match="could not build"):
        build(project, RECIPE)
    assert not (project / "out").exists()


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


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "^it needs a tool: there is no tool on the path$"),
        ("import sys; sys.exit('not found')", "^tool could not build it: not found$"),
        ("import sys; sys.exit(3)", "exit status 3"),
    ],
    ids=["missing", "quoted", "silent"],
)
def test_a_failure_is_reported_and_repeated(
    monkeypatch: pytest.MonkeyPatch, project: Path, script: str | None, said: str
) -> None:
    tool(monkeypatch, project / "bin", script)
    for _ in range(2):
        with pytest.raises(TargetError, match=said):
            build(project, RECIPE)


def test_a_build_times_out(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    tool(monkeypatch, project / "bin", "import time; time.sleep(900)")
    slow = BuildRecipe("it", "a tool", ("tool",), ("*.src",), "out", 0.2)
    with pytest.raises(TargetError, match=r"tool was not done after 0\.2 s"):
        build(project, slow)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setattr(module, "IS_INSTALLED", True)
    return folder


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_an_installed_project_is_built_in_the_cache(
    monkeypatch: pytest.MonkeyPatch,
    project: Path,
    cache: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    before = files(project)
    tool(monkeypatch, tmp_path_factory.mktemp("tools") / "bin", "open('builds', 'a').write('all')")
    first, second = build(project, RECIPE), build(project, RECIPE)
    assert first == second
    assert first.is_relative_to(cache / "sharespec" / "builds")
    assert (first / "builds").read_text() == "all"
    assert files(first) == before | {"builds", "out/built", "out/building"}
    assert files(project) == before


def test_other_sources_are_built_elsewhere(project: Path, cache: Path) -> None:
    first = cached_copy(project, RECIPE)
    (project / "a.src").write_text("b")
    second = cached_copy(project, RECIPE)
    assert first != second
    assert [(copy / "a.src").read_text() for copy in (first, second)] == ["a", "b"]
    assert {path.parents[1] for path in (first, second)} == {cache / "sharespec" / "builds"}


def test_what_was_built_beside_the_sources_is_not_copied(project: Path, cache: Path) -> None:
    copy = cached_copy(project, RECIPE)
    (project / "out").mkdir()
    (project / "out" / "result").write_text("x")
    assert cached_copy(project, RECIPE) == copy
    assert files(copy) == {"a.src", "more/deep/b.src"}
    assert copy.is_relative_to(cache)


@pytest.mark.parametrize("installed", [False, True])
def test_a_project_that_is_included_is_built_and_copied_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path, *, installed: bool
) -> None:
    monkeypatch.setattr(module, "IS_INSTALLED", installed)
    project, included = tmp_path / "one", tmp_path / "other" / "part.src"
    for path in (project / "a.src", included):
        path.parent.mkdir()
        path.write_text("a")
    tool(
        monkeypatch, tmp_path / "bin", "open('builds', 'w').write(open('../other/part.src').read())"
    )
    recipe = attrs.evolve(RECIPE, beside="other")
    built = build(project, recipe)
    assert (built / "builds").read_text() == "a"
    included.write_text("b")
    later = (built / "out" / "built").stat().st_mtime + 5
    os.utime(included, (later, later))
    again = build(project, recipe)
    assert (again / "builds").read_text() == "b"
    assert (again != built) is again.is_relative_to(cache) is installed


def test_a_copy_that_was_cut_short_is_completed(project: Path, cache: Path) -> None:
    copy = cached_copy(project, RECIPE)
    (copy / "a.src").rename(copy / "a.src.part")
    assert cached_copy(project, RECIPE) == copy
    assert (copy / "a.src").read_text() == "a"
    assert copy.is_relative_to(cache)


def test_a_cache_that_cannot_be_written_is_reported(project: Path, cache: Path) -> None:
    (cache / "sharespec").write_text("a file")
    with pytest.raises(TargetError, match=r"^it is built in .*/builds/.*, which cannot be written"):
        build(project, RECIPE)


@pytest.mark.usefixtures("cache")
def test_a_copy_may_have_other_contents_and_fewer_files(project: Path) -> None:
    def content(name: PurePosixPath, has: bytes) -> bytes | None:
        return has.upper() if name.name == "a.src" else None

    copy = cached_copy(project, RECIPE, content)
    assert [path.name for path in copy.rglob("*.src")] == ["a.src"]
    assert (copy / "a.src").read_text() == "A"
    assert cached_copy(project, RECIPE, content) == copy != cached_copy(project, RECIPE)
