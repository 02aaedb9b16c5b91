import json
import sys
from pathlib import Path

import pytest

from tests.sharespec.running import runner

DOUBLE = f"{sys.executable} -m tests.doubles.share_client"
SCRIPT = '{"mode":"explicit","max_poll_records":5,"steps":[["produce",3],["poll"],["reject",0]]}'


def run(*arguments: str) -> tuple[int, str, str]:
    result = runner("verify-client")(*arguments)
    return result.exit_code, result.stdout, result.stderr


def test_a_client_that_conforms_exits_with_0() -> None:
    status, output, _ = run("--exec", DOUBLE, "--play", SCRIPT)
    assert (status, "the double\n" in output) == (0, True)
    assert "conforms: 0 new, 0 known, 0 gone; 1 sequence," in output.splitlines()[-1]


def test_a_client_that_violates_a_duty_exits_with_1_and_says_how_to_see_it_again(
    tmp_path: Path,
) -> None:
    page, wrong = tmp_path / "page.html", f"{DOUBLE} ALWAYS_ACCEPTS"
    status, output, _ = run("--exec", wrong, "--play", SCRIPT, "--json", "--html", str(page))
    shown, *_, whole = map(json.loads, output.splitlines())
    assert (status, shown["rule"]) == (1, "acknowledges-as-the-application-says")
    assert (whole["verdict"], whole["kind"]) == ("deviates", "summary")
    assert "acknowledges-as-the-application-says" in page.read_text()
    _, output, _ = run("--exec", wrong, "--play", SCRIPT)
    assert f"sharespec verify-client --exec '{wrong}' --play '" in output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--exec", f"{sys.executable} -c 'input()'"), "it ended"),
        (
            ("--exec", f"{sys.executable} -c 'input(); print(5, flush=True); input()'"),
            "its answer is not an object: 5",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_driven_is_one_line_and_exits_with_2(
    arguments: tuple[str, ...], said: str
) -> None:
    status, output, error = run(*arguments)
    assert (status, output) == (2, "")
    assert said in error


def test_a_mended_deviation_needs_a_release_that_has_it() -> None:
    status, output, error = run("kafka", "--only", "sends-although-throttled")
    text = "sends-although-throttled is mended in 4.4.0; --version names one before it"
    assert (status, output, text in error) == (2, "", True)


@pytest.mark.slow
def test_what_is_known_exits_with_0_and_what_a_run_writes_is_known_to_the_next(
    tmp_path: Path,
) -> None:
    known, written = tmp_path / "known.toml", tmp_path / "written.toml"
    known.write_text(
        "[[deviation]]\nname = 'stays'\nreason = 'It stays.'\n"
        f"signature = ['leaves-the-group', '']\nsequence = '{SCRIPT}'\n"
    )
    asked = ("--exec", f"{DOUBLE} STAYS", "--runs", "12", "--known", str(known))
    status, output, _ = run(*asked, "--write-known", str(written))
    assert (status, "1 known deviation, nothing new; 12 sequences" in output) == (0, True)
    assert run(*asked[:-1], str(written), "--only", "stays")[0] == 1
    status, _, error = run(*asked[:3], "1", *asked[4:])
    assert (status, " duties were judged, at least 75% must be" in error) == (2, True)
    known.write_text("[[violation]]\nname = 3")
    status, _, error = run(*asked)
    assert (status, "'violation' is no table; allowed: [[deviation]]" in error) == (2, True)
