from model.outcome import Write


def test_a_write_may_keep_the_start_offset_and_not_know_its_count() -> None:
    write = Write(0, -1, -1)
    assert (write.start_offset, write.delivery_complete_count) == (-1, -1)
