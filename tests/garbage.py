"""Garbage: what is right, with a few things in it replaced, left out, cut or turned to noise."""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

Place = tuple[list[Any] | dict[str, Any], int | str]


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


NUMBERS = st.integers(-2, 9) | st.integers(-(2**70), 2**70) | st.floats()
TEXTS = st.text(max_size=4) | st.sampled_from(["\ud800", "NONE", "acquire", "\x1b[2J", "9" * 30])
DEEP = st.sampled_from([120, 990, 1100]).map(_nested)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def mangled(draw: st.DrawFn, seeds: Sequence[Any], deep: bool = True) -> Any:  # noqa: ANN401, FBT001, FBT002 - whatever JSON holds
    """One of the seeds, as JSON has them, with up to three of its values changed."""
    value = [copy.deepcopy(draw(st.sampled_from(seeds)))]
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2, 3]))):
        places = list(_places(value))
        inside, key = draw(st.sampled_from(places))
        what = draw(st.sampled_from(["replace", "replace", "replace", "remove", "add", "swap"]))
        if what == "remove" and inside is not value:
            del inside[key]  # type: ignore[arg-type] # a key of it
        elif what == "add" and isinstance(inside[key], dict):  # type: ignore[index] # as above
            inside[key][draw(st.text(max_size=3))] = draw(VALUES)  # type: ignore[index] # as above
        elif what == "swap":
            other, there = draw(st.sampled_from(places))
            inside[key] = copy.deepcopy(other[there])  # type: ignore[index] # as above
        else:
            inside[key] = draw(VALUES)  # type: ignore[index] # as above
    if deep and draw(st.integers(0, 9)) == 0:  # The last change: nothing copies what is so deep.
        inside, key = draw(st.sampled_from(list(_places(value))))
        inside[key] = draw(DEEP)  # type: ignore[index] # as above
    return value[0] if value else None


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


@st.composite
def spoiled(draw: st.DrawFn, texts: st.SearchStrategy[bytes]) -> bytes:
    """A text, as it is or with a piece cut out, doubled, or turned to noise."""
    text = draw(texts)
    what = draw(st.sampled_from(["whole", "whole", "whole", "cut", "double", "noise"]))
    if what == "whole" or not text:
        return text
    first = draw(st.integers(0, len(text) - 1))
    last = min(len(text), first + draw(st.integers(1, 40)))
    instead = {"cut": b"", "double": 2 * text[first:last]}.get(what)
    return (
        text[:first] + (draw(st.binary(max_size=8)) if instead is None else instead) + text[last:]
    )
