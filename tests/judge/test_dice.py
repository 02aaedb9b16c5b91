from collections import Counter

from judge.dice import SeededDice


def test_a_seed_decides_every_decision() -> None:
    one, same, other = SeededDice(1), SeededDice(1), SeededDice("another")
    drawn = [[dice.number(0, 10**6) for _ in range(5)] for dice in (one, same, other)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_decisions_are_among_what_was_asked_for() -> None:
    dice = SeededDice(0)
    assert {dice.number(2, 4) for _ in range(50)} == {2, 3, 4}
    assert {dice.one_of("ab") for _ in range(50)} == {"a", "b"}
    assert (dice.happens(0.0), dice.happens(1.0)) == (False, True)


def test_weights_say_how_often_each_is_drawn() -> None:
    dice = SeededDice(0)
    drawn = Counter(dice.weighted({"rare": 1, "often": 9, "never": 0}) for _ in range(1000))
    assert 50 < drawn["rare"] < 150
    assert drawn["never"] == 0
