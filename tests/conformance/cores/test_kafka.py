"""Apache Kafka as a target: built when needed, and told in one line when it cannot be."""

import sys
from pathlib import Path

import pytest

from conformance.cores.kafka import kafka_driver
from conformance.cores.protocol import DriverTarget
from conformance.cores.target import Capabilities
from conformance.target import TargetError
from tests.conformance.unbuilt import skip_unbuilt


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "pom.xml").write_text("<project/>")
    (tmp_path / "src" / "A.java").write_text("class A {}")
    return tmp_path


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, **scripts: str) -> None:
    folder.mkdir()
    for name, script in scripts.items():
        (folder / name).write_text(f"#!{sys.executable}\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def driver(project: Path) -> DriverTarget[Capabilities]:
    return kafka_driver("Driver", Capabilities, 1, project)


JAVA = "import sys; sys.stdin.read()"


def test_missing_java_is_reported(
    monkeypatch: pytest.MonkeyPatch, project: Path, tmp_path: Path
) -> None:
    on_path(monkeypatch, tmp_path / "bin")
    with pytest.raises(TargetError, match="needs Java 17"):
        driver(project)


def test_a_driver_that_does_not_compile_is_not_skipped(
    monkeypatch: pytest.MonkeyPatch, project: Path, tmp_path: Path
) -> None:
    failing = "import sys; print('[INFO] x\\n[ERROR] COMPILATION ERROR :\\nmore'); sys.exit(1)"
    on_path(monkeypatch, tmp_path / "bin", java=JAVA, mvn=failing)
    with pytest.raises(TargetError, match=r"Apache Kafka: .ERROR. COMPILATION ERROR :$") as broken:
        driver(project)
    with pytest.raises(TargetError, match="COMPILATION"):
        skip_unbuilt(broken.value)
    with pytest.raises(pytest.skip.Exception, match="no mvn"):
        skip_unbuilt(TargetError("no mvn on the path"))
