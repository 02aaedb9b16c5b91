from pathlib import Path

import pytest
from click.testing import CliRunner

from sharespec.commands.generate import generate_command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "--partitions", "5", "--events", "4"], "at least one for each"),
        ([""], "is not empty"),
        (["file/under"], "Not a directory"),
    ],
    ids=["too few events", "not empty", "no folder"],
)
def test_bad_arguments_exit_with_2_and_one_line(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "file").touch()
    folder, *options = arguments
    done = CliRunner().invoke(generate_command, [str(tmp_path / folder), *options])
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output
