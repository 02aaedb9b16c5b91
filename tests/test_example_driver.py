"""The example driver of the documents conforms, and its runner of vectors sees what is wrong."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.campaign import Limits, campaign
from conformance.cores.kit import CORES
from conformance.cores.process import core_target
from conformance.groups import grouped
from conformance.vectors.play import all_cases, play_vectors
from conformance.vectors.written import DATA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js"),
]

FOLDER = Path(__file__).parents[1] / "docs" / "example-driver"
DRIVER = f"node {FOLDER / 'driver.js'}"
SMALL_CORE = f"{sys.executable} -m tests.doubles.small_core"


def run_vectors(driver: str, *files: str) -> tuple[int, list[str], dict[str, int]]:
    """Return the exit status, the lines about what is wrong, and the counts."""
    paths = [str(DATA / f"{name}.json") for name in files]
    done = subprocess.run(
        ["node", str(FOLDER / "run-vectors.js"), driver, *paths],  # noqa: S607 - where it is found
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    *wrong, counts = done.stdout.splitlines()
    return done.returncode, wrong, json.loads(counts)


@pytest.mark.parametrize(
    ("files", "why"),
    [([], "no file of vectors is named"), (["driver.js"], "driver.js has no vectors")],
)
def test_without_vectors_nothing_is_played(files: list[str], why: str) -> None:
    done = subprocess.run(
        ["node", "run-vectors.js", DRIVER, *files],  # noqa: S607 - where it is found
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{why}; usage: node run-vectors.js")


def test_the_example_conforms() -> None:
    target = core_target(DRIVER)
    try:
        played = play_vectors(target, target.hello(), all_cases())
        found = campaign(target, Limits(sequences=40, seconds=60), CORES)
    finally:
        target.close()
    assert played.faults == found.faults == ()
    assert played.number > 80
    assert found.steps > 1000


def test_one_wrong_character_is_one_group(tmp_path: Path) -> None:
    wrong = tmp_path / "driver.js"
    right = (FOLDER / "driver.js").read_text()
    wrong.write_text(right.replace("count < config.delivery", "count <= config.delivery"))
    target = core_target(f"node {wrong}")
    try:
        played = play_vectors(target, target.hello(), all_cases())
        searched = campaign(target, Limits(sequences=60, seconds=60), CORES).faults
    finally:
        target.close()
    (group,) = grouped((*played.faults, *searched))
    assert group.title == "a delivery fails at the delivery limit: AVAILABLE instead of ARCHIVED"
    assert len(group.forms) > 12
    assert {f.deviation.operation for f in group.forms} == {
        "acknowledge",
        "advance_time",
        "release",
    }


def test_the_runner_agrees_and_skips_what_the_example_cannot() -> None:
    status, wrong, counts = run_vectors(DRIVER, *(path.stem for path in DATA.glob("*.json")))
    assert (status, wrong) == (0, [])
    assert counts["same"] > 80
    assert counts["skipped"] > 80
    assert counts["otherwise"] == 0


@pytest.mark.parametrize(
    ("fault", "file", "name"),
    [
        ("does not count redeliveries", "transitions", "acquire-again-what-was-released"),
        (
            "ignores the limit of the window",
            "window",
            "under-record-limit-the-window-keeps-to-its-limit",
        ),
        (
            "moves the start offset past a record that is held",
            "window",
            "the-start-offset-stops-at-a-held-record",
        ),
        ("keeps a change whose write failed", "writes", "a-write-that-fails-restores-the-record"),
        (
            "applies and writes the first batch of a refused request",
            "acknowledging",
            "one-bad-batch-refuses-the-batches-before-it",
        ),
    ],
)
def test_the_runner_sees_what_is_wrong(fault: str, file: str, name: str) -> None:
    status, wrong, counts = run_vectors(f'{SMALL_CORE} "{fault}"', file)
    assert status == 1
    assert len(wrong) == counts["wrong"]
    assert name in {line.split()[0] for line in wrong}
