"""Imports of the packages are renamed for the wheel, and nothing else is."""

import ast

import pytest

from tools.one_name import UnclearImportError, renamed

MOVED = {"model", "spec"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from model.states import A", "from sharespec.model.states import A"),
        ("from model import states as s", "from sharespec.model import states as s"),
        ("from spec import (\n    lag,\n)", "from sharespec.spec import (\n    lag,\n)"),
        ("import spec", "import sharespec.spec as spec"),
        ("import spec as rules", "import sharespec.spec as rules"),
        ("import spec.lag as lag", "import sharespec.spec.lag as lag"),
        (
            "import attrs, spec, os, model as m",
            "import attrs, sharespec.spec as spec, os, sharespec.model as m",
        ),
        (
            "def lazy():\n    from spec import lag; from model import states\n",
            "def lazy():\n    from sharespec.spec import lag; from sharespec.model import states\n",
        ),
        (
            "if TYPE_CHECKING:\n    from spec.lag import lag\n",
            "if TYPE_CHECKING:\n    from sharespec.spec.lag import lag\n",
        ),
        ('x = "é"; import spec', 'x = "é"; import sharespec.spec as spec'),
    ],
    ids=str,
)
def test_an_import_names_the_one_package(before: str, after: str) -> None:
    assert renamed(before, "a.py", MOVED) == after
    ast.parse(after)


@pytest.mark.parametrize(
    "source",
    [
        "import attrs\nfrom modelling import a\nfrom specs.lag import b\n",
        "from sharespec.exit import fail\nimport sharespec\n",
        "from . import spec\n",
        'text = "from spec import lag"  # from spec import lag\n',
        '"""from spec import lag\nimport spec\n"""\n',
        "spec.model = model(spec)\n",
        "",
    ],
    ids=str,
)
def test_all_else_stays_as_it_is(source: str) -> None:
    assert renamed(source, "a.py", MOVED) == source


def test_lines_stay_where_they_are() -> None:
    source = '"""A.\r\n\f"""\r\n\r\nimport spec\r\n\r\nx = 1\r\n'
    assert renamed(source, "a.py", MOVED) == source.replace("spec", "sharespec.spec as spec")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\nimport spec.lag", r"^a\.py:2: write 'import spec\.lag as …'"),
        ("from  spec import lag", r"^a\.py:1: write the import as 'from spec import '$"),
        ("from spec \\\n  import lag", r"^a\.py:1: write the import as 'from spec import '$"),
        ("import spec  as rules", r"^a\.py:1: write the import as 'spec as rules'$"),
    ],
)
def test_an_import_that_cannot_be_renamed_in_its_place_is_refused(
    source: str, message: str
) -> None:
    with pytest.raises(UnclearImportError, match=message):
        renamed(source, "a.py", MOVED)
