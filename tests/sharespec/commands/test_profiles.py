import json

from tests.sharespec.running import runner


def shown(*arguments: str) -> tuple[int, str]:
    result = runner("profiles")(*arguments)
    return result.exit_code, result.output


def test_two_profiles_and_their_differences() -> None:
    status, output = shown("kip", "kafka")
    assert status == 0
    assert "renewal_survives_refusal" in output
    assert "defect_" not in output
    assert "kafka_4_4" not in output


def test_without_names_all_are_compared() -> None:
    status, output = shown("--json")
    rows = [json.loads(line) for line in output.splitlines()]
    assert status == 0
    assert {len(row["values"]) for row in rows} == {5}
    assert {"rule", "sentence", "values"} == set(rows[0])


def test_a_profile_has_its_own_rules() -> None:
    assert shown("kip", "kip") == (0, "They have the same rules.\n")


def test_the_version_of_the_package() -> None:
    from sharespec import __version__  # noqa: PLC0415 - computed when it is asked for

    result = runner()("--version")
    assert (result.exit_code, result.output) == (0, f"cli {__version__}\n")
