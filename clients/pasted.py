"""Violations of duties as tests, to be pasted beside those of a client.

They drive confluent-kafka's share consumer, and the broker of this package does what a script has.
"""

import re
from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path
from string import Template
from textwrap import indent, wrap

from clients.broker import Broker
from clients.duties import RULES, Duty
from clients.kit import script_of
from clients.play import TOPIC
from clients.scripts import ACKNOWLEDGE, HABITS, Do, Script
from conformance.java import JavaCase, NoTestError

_TEMPLATE = Path(__file__).parent / "targets" / "librdkafka" / "template.py.txt"
"""What a module of tests begins with."""

BY_WIRE = (
    *(Duty.EPOCHS, Duty.CLOSES, Duty.LEAVES, Duty.MEMBER_ID, Duty.MEMBER_EPOCH),
    *(Duty.THROTTLED, Duty.FOLLOWS, Duty.OWN_LEADER),
)
"""The duties that show without what an application is told, but that it closes."""

_PLAIN = {
    Do.POLL: "records = poll(consumer, broker)",
    Do.POLL_ONCE: "records = [each for each in consumer.poll(timeout=0.5) if not each.error()]",
    Do.COMMIT: "with suppress(KafkaException):\n    consumer.commit_sync(timeout=10)",
    Do.COMMIT_ASYNC: "consumer.commit_async()",
    **{Do[name.upper()]: f"broker.{name}()" for name in ("evict", "misnumber", "lapse")},
}
_FIRST = ("broker.happen", "broker.produce")
_AT_ONCE = (Do.EXPEL, Do.FENCE, Do.MOVE_COORDINATOR)
"""The steps that a script waits for, unless the one before says otherwise."""


def python_test(case: JavaCase, taken: Collection[str] = ()) -> tuple[str, str]:
    """Return the name of a test, not one taken, and its function, for a violation.

    Raises NoTestError where it cannot be expressed.
    """
    duty = Duty(case.fault.deviation.name)
    if duty not in BY_WIRE:
        raise NoTestError(f"{duty.value} does not show by what goes over the wire alone")
    script = script_of(case.fault.sequence)
    name = "test_" + "_".join(re.findall("[a-z0-9]+", case.name.lower()))
    while name in taken:
        name += "_again"
    plain = (text.replace("\\", "/").replace('"""', "'") for text in _told(case, duty))
    lines = [line for text in plain for line in (*wrap(text, 92), "")]
    text = "\n".join([f'r"""{lines[0]}', *lines[1:], case.command, '"""'])
    said = ((line, len([*same])) for line, same in groupby(_statements(script, duty)))
    loops = (f"for _ in range({n}):\n    {line}" if n > 1 else line for line, n in said)
    body = indent("\n".join(loops), " " * 4)
    setup = f"with scripted({script.partitions}, {script.brokers}) as broker:\n{body}"
    return name, f"\n\ndef {name}():\n" + indent(f"{text}\n{setup}\n", " " * 4)


def python_module(functions: Sequence[str]) -> str:
    """Return the source of a module with these tests."""
    head = Template(_TEMPLATE.read_text(encoding="utf-8"))
    return head.substitute(module=Broker.__module__, topic=TOPIC) + "".join(functions)


def _statements(script: Script, duty: Duty) -> list[str]:
    """Return what the application and the broker do, a statement each, and what is expected."""
    mode = "explicit" if script.settings.explicit else "implicit"
    opened = f'consumer = opened(broker, "{mode}", {script.settings.max_poll_records})'
    lines: list[str] = []
    produced, before = 0, None
    for do, number in script.steps:
        if do in HABITS:
            lines.append(f'broker.happen("{do.value}")')
        elif do is Do.PRODUCE:
            lines.append(f'broker.produce(("{TOPIC}", {produced % script.partitions}), {number})')
            produced += 1
        elif do in ACKNOWLEDGE and do is not Do.RENEW:
            some, kind = f"[:{number}]" if number else "", ACKNOWLEDGE.index(do) + 1
            lines.append(f"acknowledge(consumer, records{some}, {kind})")
            lines.append(f"records = records[{number}:]" if number else "records = []")
        elif do is Do.IDLE:
            lines.append(f"time.sleep({number / 1000})")
        elif do is Do.RESTART:
            lines.append(f"broker.restart({number})")
        elif do in _AT_ONCE and before is Do.AT_ONCE:
            lines.append(f"broker.{do.name.lower()}()")
        elif do in _PLAIN:
            lines.append(_PLAIN[do])
        elif do is not Do.AT_ONCE:
            raise NoTestError(f"the step {do.value} is none of a test in Python")
        before = do
    # What the broker does first awaits the client, whose first requests no test can time.
    begins = next((n for n, do in enumerate(lines) if not do.startswith(_FIRST)), len(lines))
    lines.insert(begins, opened)
    expected = f'assert broker.violations("{duty.value}") == []'
    return [*lines, "with broker.closing():", "    consumer.close()", expected]


def _told(case: JavaCase, duty: Duty) -> list[str]:
    """Return what is told of a violation, and the sentence that it is against."""
    rule = RULES[duty]
    return [*filter(None, case.told), f"{duty.value}: “{rule.sentence}” ({rule.source})"]
