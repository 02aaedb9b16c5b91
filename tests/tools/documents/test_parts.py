import pytest

from model.errors import InvalidValueError
from tools.documents.parts import with_part


def test_the_text_between_the_markers_is_replaced() -> None:
    assert with_part("a\n<\nold\n>\nb", "<", ">", "new") == "a\n<\n\nnew\n\n>\nb"


@pytest.mark.parametrize("document", ["", "<", ">", "<><", "<>>"])
def test_document_without_one_of_each_marker_is_refused(document: str) -> None:
    with pytest.raises(InvalidValueError, match="one < and one >"):
        with_part(document, "<", ">", "new")
