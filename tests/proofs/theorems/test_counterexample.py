from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import as_test, changed, check_control, fails, prove


def test_counterexample_is_a_test_of_the_theorem_in_its_situation() -> None:
    theorem = theorem_named("accept owner_iff_held")
    assert check_control(theorem).test == (
        "from model.states import RecordState\n"
        "from proofs.theorems.catalogue import theorem_named\n"
        "from proofs.theorems.harness import holds_of\n"
        "from proofs.theorems.record_operations import OneRecord\n"
        "from spec.record import Record\n"
        "\n\n"
        "def test_accept_owner_iff_held() -> None:\n"
        '    """A record has an owner exactly when it is ACQUIRED or IN_PROGRESS."""\n'
        "    situation = OneRecord(\n"
        "        record=Record(state=RecordState.ACQUIRED, delivery_count=1, "
        'owner="member-0", deadline=0),\n'
        '        member="member-0",\n'
        "        marks=True,\n"
        "    )\n"
        '    assert holds_of(theorem_named("accept owner_iff_held"), situation)\n'
    )


def test_counterexample_of_the_window_names_the_theorem() -> None:
    theorem = theorem_named("move start start_offset_never_decreases")
    with changed(theorem.control):
        test = as_test(theorem, prove(theorem).counterexample)
        assert fails(test)
    assert not fails(test)
    assert "situation = AnyPartition(" in test
