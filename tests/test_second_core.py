"""A second core, in Go, conforms under `kip` and `kafka` whatever it chooses.

It was written from the KIPs alone and knows nothing of the specification. A seed draws its choices,
but for the four that its choices.go marks as refused: with others, the judge objects to them.
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.campaign import Campaign, Limits, campaign
from conformance.cores.asks import Ask
from conformance.cores.kit import CORES
from conformance.cores.process import core_target
from conformance.vectors.play import Played, all_cases, play_vectors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("go") is None, reason="needs Go"),
]

SOURCE = Path(__file__).parent / "doubles" / "second_core"

Verify = Callable[[str, int], tuple[Played, Campaign[Ask]]]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the core; it needs no registry."""
    built = tmp_path_factory.mktemp("second") / "core"
    subprocess.run(["go", "build", "-o", built, "."], cwd=SOURCE, check=True, timeout=300)  # noqa: S607 - where it is found
    return built


@pytest.fixture
def verify(core: Path) -> Verify:
    """Return what plays the vectors and so many sequences, given arguments of the core."""

    def run(arguments: str, sequences: int) -> tuple[Played, Campaign[Ask]]:
        target = core_target(f"{core} {arguments}")
        try:
            played = play_vectors(target, target.hello(), all_cases())
            return played, campaign(target, Limits(sequences=sequences, seconds=600), CORES)
        finally:
            target.close()

    return run


@pytest.mark.parametrize("profile", ["kip", "kafka"])
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 10))]
)
def test_what_it_chooses_conforms(verify: Verify, profile: str, seed: int) -> None:
    played, found = verify(f"-profile {profile} -seed {seed}", 60)
    assert played.faults == found.faults == ()
    assert played.number > 200
    assert found.steps > 2000


@pytest.mark.parametrize("choice", ["jumps,nothing", "start-alone,rewrites"])
def test_a_choice_alone_conforms(verify: Verify, choice: str) -> None:
    played, found = verify(f"-with {choice}", 30)
    assert played.faults == found.faults == ()
