"""Which release shows which deviation: as measured, for every one that is known."""

import json

import pytest
from click.testing import CliRunner

from conformance.releases import NEWEST
from tools.documents.findings import RELEASES_MEASURED
from tools.targets import WITH_RELEASES, target_of
from tools.versions import main


@pytest.mark.parametrize("name", WITH_RELEASES)
def test_releases_were_measured_with_each_known_deviation(name: str) -> None:
    measured, target = json.loads(RELEASES_MEASURED.read_text())[name], target_of(name)
    in_process = not target.kit.confirmations
    assert {*target.releases[0 if in_process else -3 :]} <= {*measured} <= {*target.releases}
    names = {known.name for known in target.known}
    assert all({*one["deviations"]} == names for one in measured.values())
    if in_process:
        assert {*measured[NEWEST]["deviations"].values()} == {"shows"}


def test_a_release_that_no_target_has_is_refused_with_those_that_there_are() -> None:
    asked = CliRunner().invoke(main, ["1.22.3", "9.9.9", "--target", "verify-client franz-go"])
    assert asked.exit_code == 2
    assert "'9.9.9' is no release; allowed: verify-client franz-go 1.21.0, 1.21.1" in asked.output
