"""The operations of a sequence as calls of a test in Java."""

from collections.abc import Container, Iterator, Sequence
from typing import Any

from conformance.cores.scene import Exchanged, Scene
from conformance.cores.target import CoreHello, Request
from conformance.java import NoTestError, java_text, number
from judge.words import span
from model.states import AcknowledgeType, AcquireMode

_SETTINGS = {
    "delivery_count_limit": "maxDeliveryCount = {}",
    "partition_max_record_locks": "maxInFlightRecords = {}",
    "record_lock_duration_ms": "lockDurationMs = {}",
}


def statements(scene: Scene, hello: CoreHello) -> Iterator[tuple[list[str], str, str]]:
    """Yield for each operation the lines before its call, the call, and a comment on its answer.

    A call that the last operation ends, as the test asserts, is a variable.
    """
    config: dict[str, Any] = {}
    left_over = False
    asked = [exchange.operation for exchange in scene.exchanges]
    awaited = {operation["id"] for operation in asked if operation["op"] == "complete_write"}
    awaited_calls = {done.seq for done in scene.expected.completed}
    for exchange in scene.exchanges:
        setup = list(_configured(exchange, config, hello))
        scripted = list(_scripted(exchange, awaited))
        setup += scripted or (["answerNextWrites();"] if left_over else [])
        left_over = len(exchange.answers) > len(exchange.reply.get("writes", ()))
        set_up, call = _call(exchange.operation, scene.aborted)
        if exchange.seq in awaited_calls:
            call = f"CompletableFuture<Void> answered{exchange.seq} = {call}"
        yield [*setup, *set_up], call, _seen(exchange)


def _configured(exchange: Exchanged, config: dict[str, Any], hello: CoreHello) -> Iterator[str]:
    """Yield the settings that an operation changes."""
    given = exchange.operation.get("config", config)
    if exchange.operation["op"] == "alter_config" and not hello.capabilities.alter_config:
        raise NoTestError("the configuration cannot be altered in this release")
    for name, form in _SETTINGS.items():
        if given.get(name) != config.get(name):
            yield f"{form.format(given[name])};"
    if given.get("dead_letter_queue", False) != config.get("dead_letter_queue", False):
        queue = 'Optional.of("dlq")' if given["dead_letter_queue"] else "Optional.empty()"
        yield f"deadLetterQueue = {queue};"
    level = given.get("isolation_level", "read_uncommitted")
    if level != config.get("isolation_level", "read_uncommitted"):
        name = "TXN_COMMITTED" if level == "read_committed" else "HIGH_WATERMARK"
        yield f"isolation = FetchIsolation.{name};"
    if given.get("renew_acknowledge_enable") is False:
        raise NoTestError("it needs a group in which renewals are switched off")
    config.update(given)


def _scripted(exchange: Exchanged, awaited: set[int]) -> Iterator[str]:
    """Yield what makes the persister answer so; a write that waits is a variable by its id."""
    if not exchange.answers:
        return
    ids = iter(w["id"] for w in exchange.reply.get("writes", ()) if w["status"] == "PENDING")
    texts = []
    for answer in exchange.answers:
        id_ = next(ids, None) if answer == "PENDING" else None
        if answer != "PENDING":
            texts.append(f"CompletableFuture.completedFuture(answer(Errors.{answer}))")
        elif id_ in awaited:
            kind = "CompletableFuture<WriteShareGroupStateResult>"
            yield f"{kind} write{id_} = new CompletableFuture<>();"
            texts.append(f"write{id_}")
        else:
            texts.append("new CompletableFuture<>()")
    yield f"answerNextWrites({', '.join(texts)});"


def _call(  # noqa: C901, PLR0911 - one for each operation
    operation: Request, aborted: Container[list[int]]
) -> tuple[list[str], str]:
    """Return the lines before a call that stand for it alone, and the call itself."""
    match operation["op"]:
        case "initialize":
            return _leads(operation)
        case "produce":
            rows = operation["log_batches"]
            if rows[0] in aborted:  # A marker is the other batch.
                return [f"produceAborted({number(rows[0][0])}, {number(rows[0][1])});"], ""
            return [f"produce({number(first)}, {number(last)});" for first, last in rows], ""
        case "compact":
            return [f"log.remove({operation['first']}L);"], ""
        case "alter_config":
            return [], ""
        case "acquire":
            mode = AcquireMode(operation["acquire_mode"]).name
            numbers = (operation[n] for n in ("batch_size", "max_fetch_records", "max_batches"))
            limits = ", ".join(str(limit) for limit in numbers)
            return [], f"fetch({java_text(operation['member'])}, ShareAcquireMode.{mode}, {limits})"
        case "acknowledge":
            batches = ", ".join(_batch(*row) for row in operation["batches"])
            member = java_text(operation["member"])
            return [], f"sharePartition.acknowledge({member}, List.of({batches}))"
        case "release":
            return [], f"sharePartition.releaseAcquiredRecords({java_text(operation['member'])})"
        case "advance_time":
            return [], f"advanceClock({operation['ms']})"
        case "advance_log_start":
            offset = number(operation["log_start_offset"])
            return [
                f"logStartOffset = {offset};"
            ], "sharePartition.updateCacheAndOffsets(logStartOffset)"
        case "complete_write":
            return [], f"write{operation['id']}.complete(answer(Errors.{operation['status']}))"
        case "finish_dead_letter":
            ends = "fail" if operation.get("fails") else "finish"
            return [], f"{ends}DeadLetter({operation['nth']})"
    raise NoTestError(f"no call stands for {operation['op']}")


def _leads(operation: Request) -> tuple[list[str], str]:
    persisted, log_start = operation["persisted"], operation["log_start_offset"]
    if persisted["start_offset"] < 0:
        raise NoTestError("it needs a share-partition without a start offset")
    setup = [f"logStartOffset = {number(log_start)};"] if log_start else []
    batches = [
        f"new PersisterStateBatch({number(first)}, {number(last)}, (byte) {state}, (short) {count})"
        for first, last, state, count in persisted["state_batches"]
    ]
    return setup, f"lead({', '.join((number(persisted['start_offset']), *batches))})"


def _batch(first: int, last: int, types: Sequence[int]) -> str:
    known: dict[int, str] = {
        type_: f"AcknowledgeType.{type_.name}.id" for type_ in AcknowledgeType if type_
    }
    ids = ", ".join(known.get(type_, f"(byte) {type_}") for type_ in types)
    return f"new ShareAcknowledgementBatch({number(first)}, {number(last)}, List.of({ids}))"


def _seen(exchange: Exchanged) -> str:
    """Return a comment about what the release answered; empty where that was plain."""
    result = exchange.reply.get("result", {})
    acquired = ", ".join(span(first, last) for first, last, _ in result.get("acquired", ()))
    if exchange.operation["op"] == "acquire":
        text = f"acquires {acquired or 'nothing'}"
    else:
        text = {"NONE": "", "PENDING": "its write is outstanding"}.get(
            status := result.get("status", "NONE"), status
        )
    return f"  // {text.replace('–', '-')}" if text else ""
