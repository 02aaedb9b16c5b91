from model.states import (
    DURABLE_STATES,
    PERSISTED_STATES,
    TERMINAL_STATES,
    AcknowledgeType,
    AcquireMode,
    RecordState,
)


def test_the_ids_of_states_are_those_on_the_wire() -> None:
    assert {state.name: state.value for state in RecordState} == {
        "AVAILABLE": 0,
        "ACQUIRED": 1,
        "ACKNOWLEDGED": 2,
        "ARCHIVING": 3,
        "ARCHIVED": 4,
        "IN_PROGRESS": 5,
    }


def test_the_ids_of_acknowledge_types_are_those_on_the_wire() -> None:
    assert [kind.name for kind in sorted(AcknowledgeType)] == [
        "GAP",
        "ACCEPT",
        "RELEASE",
        "REJECT",
        "RENEW",
    ]
    assert sorted(AcknowledgeType) == [0, 1, 2, 3, 4]


def test_only_final_states_are_terminal_and_who_holds_a_record_is_never_written() -> None:
    assert {state.name for state in TERMINAL_STATES} == {"ACKNOWLEDGED", "ARCHIVED"}
    assert {state.value for state in PERSISTED_STATES} == {0, 2, 3, 4}
    assert {state.value for state in DURABLE_STATES - PERSISTED_STATES} == {5}


def test_the_acquire_modes_have_the_names_of_the_configuration() -> None:
    assert [mode.value for mode in AcquireMode] == ["batch_optimized", "record_limit"]
