import pytest

from model.guards import CoordinatorGuard, Difference, Guard


@pytest.mark.parametrize("kind", [Guard, CoordinatorGuard, Difference])
def test_no_two_names_share_a_sentence(
    kind: type[Guard] | type[CoordinatorGuard] | type[Difference],
) -> None:
    assert len(kind.__members__) == len(list(kind))
