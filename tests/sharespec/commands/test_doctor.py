"""The doctor reads, and prints what can be pasted."""

import json
from pathlib import Path

import pytest

from conformance.wire.kafka_broker import kafka_broker
from tests.conformance.unbuilt import built_or_skipped
from tests.conformance.wire.fake import faking
from tests.conformance.wire.fake_cluster import FakeCluster, Guarded
from tests.sharespec.running import runner

run = runner("doctor")


def test_the_recipes_of_a_cluster() -> None:
    with faking(FakeCluster()) as address:
        result = run(address)
    assert result.exit_code == 0, result.output
    assert "cluster c: 1 broker, ShareFetch 1 to 2, share.version 1" in result.stdout
    assert "share groups: 1 (g)" in result.stdout
    assert "2. request log: permitted" in result.stdout
    assert f"--bootstrap-server {address}" in result.stdout


def test_a_cluster_that_permits_nothing_fails() -> None:
    fake = FakeCluster()
    fake.features = {"share.version": 0}
    with faking(fake) as address:
        result = run(address, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert {recipe["permitted"] for recipe in found["recipes"]} == {False}
    assert found["cluster"]["nodes"][0]["level"] == "WARN"


def test_a_login_comes_from_the_file_of_the_tools(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    jaas = 'x required username="me" password="secret";'
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n"
    )
    with faking(Guarded()) as address:
        result = run(address, "--command-config", str(path))
    assert result.exit_code == 0, result.output
    assert f"--command-config {path}" in result.stdout
    assert "secret" not in result.output


@pytest.mark.broker
def test_a_released_broker_is_examined() -> None:
    with built_or_skipped(kafka_broker()) as broker:
        result = run(str(broker.address), "--json")
    found = json.loads(result.stdout)
    assert found["cluster"]["share_fetch"][1] >= 2
    assert found["cluster"]["state_topic"]["may"]
