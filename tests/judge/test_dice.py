from collections import Counter

from judge.dice import SeededDice


def test_weights_say_how_often_each_is_drawn() -> None:
    dice = SeededDice(0)
    drawn = Counter(dice.weighted({"rare": 1, "often": 9, "never": 0}) for _ in range(1000))
    assert 50 < drawn["rare"] < 150
    assert drawn["never"] == 0
