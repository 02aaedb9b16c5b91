import pytest

from model.errors import InvalidValueError
from tools.documents.parts import with_parts

BEGIN, END = "<!-- begin: a part -->", "<!-- end: a part -->"


def test_the_text_between_the_markers_is_replaced() -> None:
    document = f"a\n{BEGIN}\nold\n{END}\nb"
    assert with_parts(document, {"a part": "new"}) == f"a\n{BEGIN}\n\nnew\n\n{END}\nb"


@pytest.mark.parametrize("document", ["", BEGIN, END, BEGIN + END * 2, BEGIN * 2 + END])
def test_document_without_one_of_each_marker_is_refused(document: str) -> None:
    with pytest.raises(InvalidValueError, match=f"one {BEGIN} and one {END}"):
        with_parts(document, {"a part": "new"})
