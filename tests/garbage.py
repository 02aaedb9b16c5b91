"""Garbage: what is right, with a few things in it replaced, left out, cut or turned to noise.

Drawn by `random`, not by Hypothesis, which takes a hundred times as long for one input.
"""

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, TypeVar

from hypothesis import settings

_What = TypeVar("_What")
_Outcome = TypeVar("_Outcome")
Garbage = Callable[[Random], _What]
Place = tuple[list[Any] | dict[str, Any], int | str]

_NUMBERS = [float("nan"), float("inf"), -float("inf"), -0.0, 0.5, 1e-320, 1e19, 1.7e308, 10**400]
_TEXTS = ["", "\ud800", "NONE", "acquire", "\x1b[2J", "9" * 30, "a\nb", "\0", "\u2028", "\r", "{}"]
_SIGNS = "aZ09 -_.:/\\\"'\n\t\0\x7f\x85\u2028\ud83d\u00e9\u0660\U0001f600"


def tried(
    garbage: Garbage[_What], examples: int, try_it: Callable[[_What], _Outcome]
) -> set[_Outcome]:
    """Try so many inputs: the same ones in every run, or with the profile `search` others.

    Return all that came of them.
    """
    seed = 0 if settings().derandomize else Random().getrandbits(32)  # noqa: S311 - tests
    outcomes = set()
    for number in range(examples):
        value = garbage(Random(f"{seed} {number}"))  # noqa: S311 - tests
        try:
            outcomes.add(try_it(value))
        except BaseException as error:
            error.add_note(f"input {number} of seed {seed}: {value!r}")
            raise
    return outcomes


def _number(draw: Random) -> float:
    """An integer, small or about a power of two, or a float."""
    power = 1 << draw.choice([7, 15, 31, 32, 53, 63, 64, 70])
    numbers = (
        draw.randint(-2, 9),
        draw.choice(_NUMBERS),
        draw.choice([-power, power]) + draw.randint(-1, 1),
        draw.uniform(-10, 10) * 10.0 ** draw.randint(-3, 20),
    )
    return draw.choice(numbers)


def text(draw: Random) -> str:
    """A text of up to four signs, or one that something may trip over."""
    if draw.random() < 0.5:
        return draw.choice(_TEXTS)
    return "".join(
        draw.choice(_SIGNS) if draw.random() < 0.7 else chr(draw.randrange(0x110000))
        for _ in range(draw.randrange(5))
    )


def value(draw: Random, depth: int = 2) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Whatever JSON holds, of a few values."""
    what = draw.randrange(6 if depth else 4)
    if what == 4:
        return [value(draw, depth - 1) for _ in range(draw.randrange(4))]
    if what == 5:
        return {text(draw): value(draw, depth - 1) for _ in range(draw.randrange(3))}
    return (None, draw.random() < 0.5, _number(draw), text(draw))[what]


def _deep(draw: Random) -> list[Any]:
    inner: list[Any] = []
    for _ in range(draw.choice([120, 990, 1100])):
        inner = [inner]
    return inner


def mangled(draw: Random, seeds: Sequence[Any]) -> Any:  # noqa: ANN401 - whatever JSON holds
    """One of the seeds, as JSON has them, with up to three of its values changed."""
    whole = [copy.deepcopy(draw.choice(seeds))]
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
        places = list(_places(whole))
        inside, key = draw.choice(places)
        what = draw.choice(["replace", "replace", "replace", "remove", "add", "swap"])
        if what == "remove" and inside is not whole:
            del inside[key]  # type: ignore[arg-type] # a key of it
        elif what == "add" and isinstance(inside[key], dict):  # type: ignore[index] # as above
            inside[key][text(draw)] = value(draw)  # type: ignore[index] # as above
        elif what == "swap":
            other, there = draw.choice(places)
            inside[key] = copy.deepcopy(other[there])  # type: ignore[index] # as above
        else:
            inside[key] = value(draw)  # type: ignore[index] # as above
    if draw.randrange(10) == 0:  # The last change: nothing copies what is so deep.
        inside, key = draw.choice(list(_places(whole)))
        inside[key] = _deep(draw)  # type: ignore[index] # as above
    return whole[0]


def _places(value: list[Any] | dict[str, Any]) -> Iterator[Place]:
    """Yield each place in lists and objects, however deep; not in what is absurdly deep."""
    waiting = [value]
    while waiting:
        inside = waiting.pop()
        keys = list(inside) if isinstance(inside, dict) else range(len(inside))
        for key in keys:
            yield inside, key
            if isinstance(inside[key], list | dict) and len(waiting) < 100:  # type: ignore[index] # a key of it
                waiting.append(inside[key])  # type: ignore[index] # a key of it


def as_json(value: object) -> bytes:
    """JSON of a value of any depth, with half characters as escapes."""
    try:
        return json.dumps(value).encode()
    except RecursionError:
        return 1100 * b"[" + 1100 * b"]"


def spoiled(draw: Random, whole: bytes) -> bytes:
    """A text, as it is or with a piece cut out, doubled, or turned to noise."""
    what = draw.choice(["whole", "whole", "whole", "cut", "double", "noise"])
    if what == "whole" or not whole:
        return whole
    first = draw.randrange(len(whole))
    last = min(len(whole), first + draw.randint(1, 40))
    instead = {"cut": b"", "double": 2 * whole[first:last]}.get(what)
    noise = draw.randbytes(draw.randrange(9)) if instead is None else instead
    return whole[:first] + noise + whole[last:]


def spoiled_json(seeds: Sequence[Any]) -> Garbage[bytes]:
    """JSON of one of the seeds, mangled and spoiled."""
    return lambda draw: spoiled(draw, as_json(mangled(draw, seeds)))


def several(garbage: Garbage[bytes], least: int = 1, most: int = 4) -> Garbage[list[bytes]]:
    """Draw some of a kind."""
    return lambda draw: [garbage(draw) for _ in range(draw.randint(least, most))]
