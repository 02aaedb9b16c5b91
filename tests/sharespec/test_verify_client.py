import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sharespec.cli import cli

DOUBLE = f"{sys.executable} -m tests.doubles.share_client"
SCRIPT = '{"mode":"explicit","max_poll_records":5,"steps":[["produce",3],["poll"],["reject",0]]}'


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["verify-client", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_a_client_that_conforms_exits_with_0() -> None:
    status, output, _ = run("--exec", DOUBLE, "--play", SCRIPT)
    first, second, *rest = output.splitlines()
    assert (status, first.startswith("the double: no duty violated; 1 scripts,")) == (0, True)
    assert second == "records delivered: 3, acknowledged: 3; refusals: 0, connections cut: 0"
    assert "        3  delivers-once" in rest


def test_a_client_that_violates_a_duty_exits_with_1_and_says_how_to_see_it_again() -> None:
    status, output, _ = run("--exec", f"{DOUBLE} ALWAYS_ACCEPTS", "--play", SCRIPT, "--json")
    shown, whole = map(json.loads, output.splitlines())
    assert (status, shown["duty"]) == (1, "acknowledges-as-the-application-says")
    assert whole["verdict"] == "violates"
    _, output, _ = run("--exec", f"{DOUBLE} ALWAYS_ACCEPTS", "--play", SCRIPT)
    assert f"sharespec verify-client --exec '{DOUBLE} ALWAYS_ACCEPTS' --play '" in output


def test_no_run_is_drawn_where_none_is_asked_for() -> None:
    status, output, error = run("--exec", DOUBLE, "--runs", "0")
    assert (status, output.splitlines()[0]) == (
        2,
        "the double: no duty violated; 0 scripts, 0 events",
    )
    assert error.strip() == "sharespec: nothing was shown of the double: no script was played"


IDLE = """
import json, sys
for line in sys.stdin:
    says_hello = json.loads(line)["do"] == "hello"
    print(json.dumps({"protocol": 1, "name": "idle"} if says_hello else {}), flush=True)
"""
"""A driver whose client never asks for anything."""


def test_a_client_that_does_nothing_has_shown_nothing(tmp_path: Path) -> None:
    idle = tmp_path / "idle.py"
    idle.write_text(IDLE)
    status, output, error = run("--exec", f"{sys.executable} {idle}", "--runs", "2", "--json")
    assert (status, json.loads(output)["verdict"]) == (2, "nothing shown")
    assert error.strip().endswith(
        "nothing was shown of idle: no record was delivered to the application"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give one of librdkafka, kafka, kafkats, franz-go, or --exec COMMAND"),
        (
            ("librdkafka", "--exec", "x"),
            "give one of librdkafka, kafka, kafkats, franz-go, or --exec COMMAND",
        ),
        (("--exec", "/no/such/command"), "'/no/such/command' cannot be started"),
        (("--exec", f"{sys.executable} -c 'input()'"), "it ended"),
        (
            ("--exec", f"{sys.executable} -c 'input(); print(5, flush=True); input()'"),
            "its answer is not an object: 5",
        ),
        (("librdkafka", "--play", "{"), "a script is JSON, as reports have it"),
        (("librdkafka", "--seconds", "nan"), "nan is not a number"),
        (("sarama",), "'sarama' is not one of 'librdkafka', 'kafka', 'kafkats', 'franz-go'"),
    ],
    ids=str,
)
def test_what_cannot_be_driven_is_one_line_and_exits_with_2(
    arguments: tuple[str, ...], said: str
) -> None:
    status, output, error = run(*arguments)
    assert (status, output) == (2, "")
    assert said in error


def test_what_is_known_exits_with_0(tmp_path: Path) -> None:
    known = tmp_path / "known.toml"
    known.write_text(
        "[[violation]]\nname = 'stays'\ntitle = 'It stays.'\nduty = 'leaves-the-group'\n"
        f"script = '{SCRIPT}'\n"
    )
    asked = ("--exec", f"{DOUBLE} STAYS", "--runs", "5", "--known", str(known))
    status, output, _ = run(*asked)
    assert (status, "nothing new, 1 known; 5 scripts" in output) == (0, True)
    few = [*asked[:3], "1", *asked[4:]]
    status, _, error = run(*few)
    assert (status, " duties were judged, at least 75% must be" in error) == (2, True)
    status, _, error = run(*asked, "--play", SCRIPT)
    assert (status, "without --play" in error) == (2, True)
    known.write_text("[[violation]]\nname = 3")
    status, _, error = run(*asked)
    assert (status, "violation 1: " in error) == (2, True)
