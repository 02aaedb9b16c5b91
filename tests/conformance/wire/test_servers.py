"""Brokers in processes of their own: they start, say where they listen, and end."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from conformance.target import TargetError
from conformance.wire.broker import BrokerTarget
from conformance.wire.servers import ServerProgram, crabka_target, kfake_target

GOOD = "import sys; print('127.0.0.1:4711 v1', flush=True); sys.stdin.read()"


def server(code: str, seconds: float = 20.0) -> ServerProgram:
    return ServerProgram([sys.executable, "-c", code], seconds)


def test_it_prints_its_address_and_version() -> None:
    good = server(GOOD)
    assert (good.address, good.version) == ("127.0.0.1:4711", "v1")
    good.close()


def test_it_ends_when_its_input_closes(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    good = server(f"{GOOD}; open({str(ended)!r}, 'w')")
    assert not ended.exists()
    good.close()
    assert ended.exists()


def test_a_server_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.wire.servers._END_SECONDS", 0.1)
    code = "import os, time; print('127.0.0.1:1', os.getpid(), flush=True); time.sleep(900)"
    stubborn = server(code)
    stubborn.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(stubborn.version), 0)


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    inner = f"{GOOD}; open({str(ended)!r}, 'w')"
    outer = (
        "import os, sys; from conformance.wire.servers import ServerProgram; "
        f"ServerProgram([sys.executable, '-c', {inner!r}]); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", outer], check=True, cwd=Path(__file__).parents[3])
    until = time.monotonic() + 300
    while not ended.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert ended.exists()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit('no port')", "it ended, exit status 1; it said: no port"),
        ("print('10.0.0.1:4711 v1')", "it printed '10.0.0.1:4711 v1', not its address"),
        ("print('127.0.0.1:0 v1')", "not its address"),
        ("print(1500 * 'x')", "not its address"),
    ],
)
def test_a_server_that_does_not_start_is_quoted(code: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        server(code, 300.0)


@pytest.mark.parametrize("start", [kfake_target, crabka_target])
def test_a_missing_tool_is_reported(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    start: Callable[..., AbstractContextManager[BrokerTarget]],
) -> None:
    (tmp_path / "go.mod").write_text("module m")
    (tmp_path / "Cargo.toml").write_text("[package]")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match=r"needs (Go 1\.26|Rust 1\.95) or newer: there is no"):
        start(1.0, project=tmp_path).__enter__()


def test_a_version_of_kfake_that_is_no_pseudo_version_is_refused() -> None:
    with pytest.raises(TargetError, match="'main' is no pseudo-version; allowed: v0"):
        kfake_target(1.0, "main").__enter__()


def test_another_version_of_kfake_is_required_and_its_checksums_are_left_to_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\ngrep pkg/kfake go.mod >&2\nls >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(TargetError) as said:
        kfake_target(1.0, "v0.0.0-20260101000000-0123456789ab").__enter__()
    text = str(said.value)
    assert "kfake v0.0.0-20260101000000-0123456789ab" in text
    assert "go.sum" not in text
