"""JUnit tests of whatever class: the file that has them."""

from pathlib import Path

import pytest

from conformance.java import NoTestError, class_name


@pytest.mark.parametrize(
    "name", ["start-offset.java", "startOffset.java", "Start.kt", "Stärt.java"]
)
def test_a_file_must_have_the_name_of_a_class(name: str) -> None:
    assert class_name(Path("somewhere", "StartOffsetTest.java")) == "StartOffsetTest"
    with pytest.raises(NoTestError, match=r"is no file of a Java class; allowed: an upper-case"):
        class_name(Path(name))
