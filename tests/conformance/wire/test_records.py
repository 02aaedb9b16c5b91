"""Record batches are those of kio, and those of a broker are checked before they are believed."""

import struct
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch

from conformance.wire import records
from conformance.wire.messages import MalformedError
from conformance.wire.records import LogBatch, Producer, read_batches, record_batch
from model.ranges import OffsetRange
from tests.conformance.wire.batches import (
    CONTROL,
    GZIP,
    TRANSACTIONAL,
    at,
    flagged,
    holding,
    record,
    sealed,
)


@given(size=st.integers(1, 200), base=st.integers(0, 2**40))
def test_a_batch_is_as_kio_reads_it_and_holds_its_offsets(size: int, base: int) -> None:
    data = at(record_batch(size, first=base), base)
    theirs, length = read_batch(data, 0)
    assert length == len(data)
    assert [record.offset for record in theirs.records] == list(range(base, base + size))
    assert theirs.attributes == 0
    assert read_batches(data) == (LogBatch((OffsetRange(base, base + size - 1),)),)


def test_records_with_other_contents_than_the_kit_writes_are_named() -> None:
    whole = at(record_batch(4, first=10), 10)
    assert read_batches(whole)[0].altered == ()
    short = sealed(whole.replace(b"10 10", b"10-10", 1))
    assert read_batches(short)[0].altered == (10,)
    assert read_batches(at(record_batch(4, first=10), 11))[0].altered == (11, 12, 13, 14)
    assert read_batches(flagged(at(record_batch(2), 7), CONTROL))[0].altered == ()
    assert read_batches(flagged(at(holding(1), 7), GZIP))[0].altered == ()


def test_a_batch_of_a_transaction_names_its_producer() -> None:
    theirs, _ = read_batch(record_batch(2, Producer(5, 1, 7)), 0)
    assert theirs.attributes == TRANSACTIONAL
    assert (theirs.producer_id, theirs.producer_epoch, theirs.base_sequence) == (5, 1, 7)


def test_several_batches_are_read_and_one_that_is_cut_off_is_not() -> None:
    marker = flagged(at(record_batch(1), 13), CONTROL | TRANSACTIONAL)
    data = at(record_batch(3), 10) + marker + at(record_batch(2), 14)
    found = read_batches(data)
    ends = ((10, 12), (13, 13), (14, 15))
    assert [batch.ranges for batch in found] == [(OffsetRange(*each),) for each in ends]
    for cut in (1, 5, len(record_batch(2)) - 1):
        assert read_batches(data[:-cut]) == found[:2]
    assert read_batches(b"") == ()


def test_a_batch_that_was_compacted_leaves_offsets_out() -> None:
    (found,) = read_batches(at(holding(6, record(1), record(2), record(5)), 10))
    assert found.ranges == (OffsetRange(11, 12), OffsetRange(15, 15))
    assert read_batches(holding(6)) == (LogBatch(()),)


def test_a_compressed_batch_has_the_offsets_of_its_header() -> None:
    squeezed = flagged(at(holding(6, b"\xff\xff"), 10), GZIP)
    assert read_batches(squeezed)[0].ranges == (OffsetRange(10, 16),)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (record_batch(2)[:-1] + b"!", "wrong checksum"),
        (record_batch(2)[:16] + b"\1" + record_batch(2)[17:], "magic 1, not 2"),
        (record_batch(1)[:8] + b"\xff\xff\xff\xff" + record_batch(1)[12:], "of 11 bytes"),
        (record_batch(1)[:8] + struct.pack(">i", 48) + record_batch(1)[12:], "of 60 bytes"),
        (at(record_batch(1), -1), "whose first is -1"),
        (holding(-1), "whose last is -1"),
        (flagged(holding(2**21), GZIP), "at most 1048576 offsets"),
        (holding(3, record(1), record(1)), "do not ascend"),
        (holding(3, record(4)), "do not ascend within it"),
        (holding(3, record(-1 % 64)), "do not ascend within it"),
        (holding(3, bytes([40, 0, 0])), "record length is .*; allowed: at most the . bytes"),
        (holding(3, bytes([1, 0, 0])), "record length is .*; allowed: at most the . bytes"),
        (holding(3, record(1), b"\xff" * 30), "record length is .*; allowed: a number of"),
        (holding(3, record(1)[:-3]), "record length is .*; allowed: at most the . bytes"),
        (holding(3, bytes([4, 0, 0x80])), "timestamp delta is 1; allowed: at most the 0 bytes"),
        (sealed(record_batch(2) + b"!"), "1 bytes after its records"),
    ],
    ids=count(),
)
def test_what_cannot_be_is_refused(data: bytes, error: str) -> None:
    with pytest.raises(MalformedError, match=error):
        read_batches(data)


def test_holes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    holes = holding(6, record(1), record(3), record(5))
    assert len(read_batches(holes)[0].ranges) == 3
    monkeypatch.setattr(records, "_MOST_RANGES", 5)
    with pytest.raises(MalformedError, match="more than 5 holes"):
        read_batches(holes + holes)


@given(data=st.binary(max_size=200))
def test_rubbish_is_read_or_refused(data: bytes) -> None:
    body = sealed(record_batch(1)[:57] + data) if len(data) >= 4 else data
    try:
        found = read_batches(body)
    except MalformedError:
        return
    assert len(found) <= 1


def test_a_batch_keeps_its_offsets_where_compaction_removed_records() -> None:
    (batch,) = read_batches(record_batch(6, removed=frozenset({1, 2, 4})))
    assert [(part.first, part.last) for part in batch.ranges] == [(0, 0), (3, 3), (5, 5)]
