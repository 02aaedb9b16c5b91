"""The files of vectors: current, valid, and held to what people wrote beside the steps."""

import json
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest

import conformance
from conformance.vectors.source import Case, cases
from conformance.vectors.words import ask_in_words
from conformance.vectors.written import DATA, VectorError, document, vectors
from model.config import SharePartitionConfig

SCHEMAS = Path(conformance.__file__).parent
SCHEMA = json.loads((SCHEMAS / "vectors.schema.json").read_text())
PROTOCOL = json.loads((SCHEMAS / "cores" / "protocol.schema.json").read_text())
FILES = {path.stem: path for path in sorted(DATA.glob("*.json"))}
SAID = jsonschema.Draft202012Validator(
    {
        "$defs": PROTOCOL["$defs"],
        "properties": {"request": {"$ref": "#/$defs/request"}, "reply": {"$ref": "#/$defs/reply"}},
    }
)


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILES[name].read_text())
    return found


def named(name: str) -> Case:
    return next(case for listed in cases().values() for case in listed if case.name == name)


@pytest.mark.parametrize("name", cases())
def test_a_file_is_current(name: str) -> None:
    assert FILES[name].read_text() == document(cases()[name]), "run: sharespec vectors"


def test_no_file_is_left_over() -> None:
    assert set(FILES) == set(cases())


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_valid_and_speaks_the_protocol(name: str) -> None:
    file = read(name)
    jsonschema.Draft202012Validator(SCHEMA).validate(file)
    for vector in file["vectors"]:
        for step in vector["steps"]:
            SAID.validate(step)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("format", 2),
        ("pins", []),
        ("name", "Not Plain"),
        ("free", {"colour": True}),
        ("needs", {"wings": True}),
        ("request", {"do": "dance"}),
    ],
)
def test_an_invalid_file_is_refused(place: str, value: object) -> None:
    file = read("limits")
    vector = file["vectors"][0]
    owner = next(at for at in (file, vector, vector["steps"][0]) if place in at or place == "free")
    (vector["steps"][0] if place == "free" else owner)[place] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(file)


def test_the_texts_of_a_vector_must_show() -> None:
    wrong = attrs.evolve(named("reject"), shows=("1 ACKNOWLEDGED(1)",))
    with pytest.raises(VectorError, match=r"reject: '1 ACKNOWLEDGED\(1\)' does not show under kip"):
        list(vectors(wrong))


def test_a_step_must_be_asked() -> None:
    case = named("reject")
    nothing = ask_in_words("write 0 ends NONE", SharePartitionConfig())
    case = attrs.evolve(case, steps=(*case.steps, "x"), asks=(*case.asks, nothing))
    with pytest.raises(VectorError, match="reject: x: there is nothing to ask"):
        list(vectors(case))


def test_profiles_whose_answers_differ_have_a_vector_each() -> None:
    case = named("a-gap-at-the-end-of-the-window-counts-against-its-limit")
    both = list(vectors(attrs.evolve(case, profiles=("kip", "kafka"), shows=())))
    assert [(one["name"].partition("/")[2], one["profiles"]) for one in both] == [
        ("kip", ["kip"]),
        ("kafka", ["kafka"]),
    ]
    assert [one["steps"][-1]["free"]["end_offset"] for one in both] == [[5, 8], [5, 11]]
    assert [one["profiles"] for one in vectors(named("reject"))] == [["kip", "kafka"]]
