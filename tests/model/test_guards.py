from model.guards import CoordinatorGuard, Difference
from model.rules import RULES, RuleKind


def test_every_member_is_in_the_table_and_nothing_else() -> None:
    assert RULES[RuleKind.COORDINATOR].keys() == CoordinatorGuard.__members__.keys()
    assert RULES[RuleKind.DIFFERENCE].keys() == Difference.__members__.keys()
