import pytest

from tests.lockstep.spoiled import cases, found_by_kernel, found_by_specification
from tests.mutants.kept import kept

SEED, STORIES, SPOILINGS = 7, 12, 14

pytestmark = pytest.mark.filterwarnings("default")  # Numbers overflow where nothing is compiled.


def test_kernel_finds_what_the_unchanged_specification_finds() -> None:
    recorded = kept(
        "recorded",
        lambda: [(c, found_by_specification(c)) for c in cases(SEED, STORIES, SPOILINGS)],
    )
    for case, expected in recorded:
        assert found_by_kernel(case) == expected, f"{case.profile.name}, {case.spoiled}"
