from proofs.theorems.catalogue import theorem_named
from proofs.theorems.counterexample import as_test, fails
from proofs.theorems.harness import changed, check_control, prove


def test_counterexample_of_a_rule_is_a_test_of_that_rule() -> None:
    theorem = theorem_named("accept owner_iff_held")
    assert check_control(theorem).test == (
        "from model.states import AcknowledgeType, RecordState\n"
        "from proofs.theorems.counterexample import holds\n"
        "from spec.record import Record, acknowledge, failed_state, is_held_by\n"
        "\n\n"
        "def test_accept_owner_iff_held() -> None:\n"
        '    """A record has an owner exactly when it is ACQUIRED or IN_PROGRESS."""\n'
        "    record = Record(state=RecordState.ACQUIRED, delivery_count=1, "
        'owner="member-0", deadline=0)\n'
        '    member = "member-0"\n'
        "    now = 0\n"
        "    limit = 1\n"
        "    highest = 1\n"
        "    dead_letter_queue = False\n"
        "    assert is_held_by(record, member)\n"
        "    after = acknowledge(record, AcknowledgeType.ACCEPT, limit, "
        "failed_state(dead_letter_queue))\n"
        '    assert holds("owner_iff_held", after, highest, now)\n'
    )


def test_counterexample_of_the_window_names_the_theorem() -> None:
    theorem = theorem_named("move start start_offset_never_decreases")
    with changed(theorem.control):
        test = as_test(theorem, prove(theorem).counterexample)
        assert fails(test)
    assert not fails(test)
    assert "situation = OneOffset(" in test
