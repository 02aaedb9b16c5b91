import pytest

from conformance.target import TargetError
from tests.conformance.unbuilt import skip_unbuilt


@pytest.mark.parametrize("text", ["[ERROR] COMPILATION ERROR", "npm error code ETARGET\nnpm error"])
def test_a_fault_of_our_sources_is_raised(text: str) -> None:
    with pytest.raises(TargetError, match=r"ERROR|ETARGET"):
        skip_unbuilt(TargetError(text))


@pytest.mark.parametrize("text", ["there is no npm on the path", "npm error code ECONNREFUSED"])
def test_a_tool_or_registry_that_is_missing_skips_with_its_reason(text: str) -> None:
    with pytest.raises(pytest.skip.Exception, match=text):
        skip_unbuilt(TargetError(text))
