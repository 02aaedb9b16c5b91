from proofs.exploration.intern import Interned


def test_values_are_numbered_as_they_come() -> None:
    values = Interned(["a"])
    assert [values.number(v) for v in ("b", "a", "c", "b")] == [1, 0, 2, 1]
    assert (values[2], len(values)) == ("c", 3)
    assert "c" in values
    assert "d" not in values
