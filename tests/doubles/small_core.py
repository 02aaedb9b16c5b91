"""The specification as a core that claims little, right or with behaviours of the catalogue.

``python -m tests.doubles.small_core [BEHAVIOUR]...`` speaks the protocol on standard input and
output.
"""

import json
import sys
from functools import reduce
from typing import Any

import attrs

from conformance.cores.builtin import EngineTarget
from conformance.cores.protocol import VERSION
from conformance.cores.target import Capabilities, CoreHello
from model.errors import ErrorCode
from model.profile import KIP
from tools.promises.behaviour import HONEST, Behaviour, FaultyEngine
from tools.promises.catalogue import BEHAVIOURS

_NAMED = {behaviour.name: behaviour for behaviour in BEHAVIOURS}


class SmallCore(EngineTarget):
    """A core in memory; ``names`` are those of the behaviours that it has at once."""

    def __init__(self, *names: str) -> None:
        """Do these things wrong."""
        self._title = ", ".join(names) or HONEST.name
        behaviour = reduce(_both, (_NAMED[name] for name in names), HONEST)
        super().__init__(
            self._title,
            new=lambda: FaultyEngine(behaviour, KIP),
            reported=lambda engine, operation: (
                engine.reported(operation) if isinstance(engine, FaultyEngine) else operation
            ),
        )

    def hello(self) -> CoreHello:
        """Return who this is."""
        failing = (ErrorCode.COORDINATOR_NOT_AVAILABLE,)
        can = Capabilities(("record_limit",), pending_writes=True, write_errors=failing)
        return CoreHello(f"small core: {self._title}", "1", "kip", can)


def _both(one: Behaviour, other: Behaviour) -> Behaviour:
    """Return the behaviour of an implementation that does two things wrong."""
    return attrs.evolve(
        one,
        reads=lambda partition, asked: other.reads(partition, one.reads(partition, asked)),
        does=lambda partition, asked: other.does(partition, one.does(partition, asked)),
        goes_by=lambda config: other.goes_by(one.goes_by(config)),
        begins=lambda partition, asked: other.begins(one.begins(partition, asked), asked),
        chooses=lambda partition, asked, choice: other.chooses(
            partition, asked, one.chooses(partition, asked, choice)
        ),
        ends=lambda old, asked, step: other.ends(old, asked, one.ends(old, asked, step)),
        shows=lambda partition, shown: other.shows(partition, one.shows(partition, shown)),
    )


def serve(target: EngineTarget) -> None:
    """Speak the protocol until the kit says goodbye."""
    for line in sys.stdin:
        asked = json.loads(line)
        reply: dict[str, Any] = {}
        if asked["do"] == "hello":
            hello = target.hello()
            can = {
                "acquire_modes": list(hello.capabilities.acquire_modes),
                "pending_writes": True,
                "write_errors": [error.name for error in hello.capabilities.write_errors],
            }
            reply = {"protocol": VERSION, "name": hello.name, "version": "1", "profile": "kip"}
            reply["capabilities"] = can
        elif asked["do"] == "reset":
            target.reset()
        elif asked["do"] == "apply":
            answers = [ErrorCode[name] for name in asked["answers"]]
            reply = target.apply(asked["seq"], asked["operation"], answers)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
        if asked["do"] == "goodbye":
            return


if __name__ == "__main__":
    serve(SmallCore(*sys.argv[1:]))
