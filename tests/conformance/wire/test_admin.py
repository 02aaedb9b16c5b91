"""Administration waits for what may pass, and says in one line what does not."""

from collections.abc import Callable

import pytest

from conformance.target import TargetError
from conformance.wire.admin import SPOKEN, Admin, Resource, Transaction
from conformance.wire.messages import Message
from conformance.wire.records import Producer, record_batch
from tests.conformance.wire.fake import TOPIC_ID, Fake, administrating, whole

LOADING, EXISTS = 14, 36
OTHERS = {"api_versions", "share_fetch", "share_acknowledge", "describe_cluster", "list_groups"}
DRIVEN = set(SPOKEN) - OTHERS


def everything(admin: Admin) -> None:
    """Ask everything once."""
    admin.check_alone()
    assert admin.create_topic("t", 1) == str(TOPIC_ID)
    settings = {"share.auto.offset.reset": "earliest", "share.isolation.level": None}
    admin.configure(Resource.GROUP, "g", settings)
    admin.join("g", "m", "t", str(TOPIC_ID), 1)
    admin.alter_offset("g", "t", 0, 3)
    assert admin.produce("t", 0, record_batch(2)) == 0
    transaction = admin.begin("x", "t", 0)
    assert transaction == Transaction("x", Producer(7, 0, 0), "t", 0)
    assert admin.produce("t", 0, record_batch(1, transaction.producer), "x") == 2
    admin.end(transaction, 3, committed=False)
    assert admin.end_offset("t", 0) == 4
    admin.delete_records("t", 0, 1)
    _, found = admin.describe("g", "t", 0)
    assert (found.error_code, found.start_offset) == (0, 3)
    assert admin.settings(Resource.BROKER, "1", ("a",)) == {}
    assert admin.leaders("t") == {0: 1}
    admin.move_leader("t", 0, 1)
    admin.throttle(on=False)
    admin.leave("g", "m")
    admin.delete_group("g")
    admin.delete_topic("t")


@pytest.mark.parametrize("end", ["lowest", "highest"])
def test_every_request_is_of_a_version_that_both_sides_speak(
    fake: Fake, admin: Admin, end: str
) -> None:
    fake.versions = {
        api.key: (0, api.lowest) if end == "lowest" else (api.highest, 99)
        for api in SPOKEN.values()
    }
    everything(admin)
    assert set(fake.asked) == DRIVEN | {"api_versions"}
    assert fake.asked.count("api_versions") == 1


def test_a_missing_version_is_reported(fake: Fake, admin: Admin) -> None:
    fake.versions = {78: (0, 1), 79: (2, 9), 0: (12, 13)}
    names = ("share_fetch", "share_acknowledge", "produce", "metadata")
    assert [admin.spoken(name) for name in names] == [(1, 1), (2, 2), None, None]
    with pytest.raises(TargetError, match=r"does not speak metadata \(3\) in a version from 10"):
        admin.check_alone()


@pytest.mark.parametrize(
    ("brokers", "error"),
    [
        ([], "is one of 0 brokers"),
        ([{"node_id": n, "host": "127.0.0.1", "port": 1} for n in (1, 2)], "is one of 2 brokers"),
        ([{"node_id": 1, "host": "127.0.0.1", "port": 1}], "sends clients to '127.0.0.1:1'"),
        ([{"node_id": 1, "host": "example.org", "port": 0}], "sends clients to 'example.org:"),
    ],
)
def test_another_advertised_address_is_refused(
    fake: Fake, admin: Admin, brokers: list[dict[str, object]], error: str
) -> None:
    port = fake.brokers[0]["port"]
    fake.brokers = [{**one, "port": one["port"] or port} for one in brokers]
    with pytest.raises(TargetError, match=error):
        admin.check_alone()


def test_loopback_names_are_equal(fake: Fake, admin: Admin) -> None:
    fake.brokers[0]["host"] = "localhost"
    admin.check_alone()


def failing(fake: Fake, api: str, times: int, fail: Callable[[Message], Message]) -> list[int]:
    """Have the first requests of an API answered otherwise; return a list that grows with them."""
    answer, tried = fake.said[api], []

    def said(request: Message) -> Message:
        tried.append(1)
        return fail(answer(request)) if len(tried) <= times else answer(request)

    fake.said[api] = said
    return tried


def coordinator(code: int) -> Callable[[Message], Message]:
    return lambda _said: whole("find_coordinator", error_code=code)


def test_a_retriable_error_is_repeated(fake: Fake, admin: Admin) -> None:
    tried = failing(fake, "find_coordinator", 2, coordinator(LOADING))
    admin.find_coordinator("g")
    assert len(tried) == 3


def test_a_lasting_retriable_error_is_reported(fake: Fake) -> None:
    failing(fake, "find_coordinator", 1000, coordinator(LOADING))
    with (
        administrating(fake, 0.1) as admin,
        pytest.raises(TargetError, match="coordinator of g: COORDINATOR_LOAD_IN_PROGRESS"),
    ):
        admin.find_coordinator("g")


def test_another_error_is_reported_at_once(fake: Fake, admin: Admin) -> None:
    tried = failing(fake, "find_coordinator", 1000, coordinator(EXISTS))
    with pytest.raises(TargetError, match="coordinator of g: TOPIC_ALREADY_EXISTS"):
        admin.find_coordinator("g")
    assert len(tried) == 1


def test_a_topic_is_waited_for_until_it_is_led(fake: Fake, admin: Admin) -> None:
    admin.check_alone()
    nobody = {"topics": [fake.topic(leader=-1)]}
    tried = failing(fake, "metadata", 2, lambda said: said | nobody)
    assert admin.create_topic("t", 1) == str(TOPIC_ID)
    assert len(tried) == 3


def test_an_error_quotes_the_broker(fake: Fake, admin: Admin) -> None:
    api = "incremental_alter_configs"
    refused = whole(api, error_code=40, error_message="at most 60000")
    failing(fake, api, 1, lambda _said: refused)
    with pytest.raises(TargetError, match="configuring group g: INVALID_CONFIG, at most 60000"):
        admin.configure(Resource.GROUP, "g", {})


def test_a_member_whose_session_is_over_has_left(fake: Fake, admin: Admin) -> None:
    failing(fake, "share_group_heartbeat", 1, lambda said: said | {"error_code": 25})
    admin.leave("g", "m")
    failing(fake, "share_group_heartbeat", 1, lambda said: said | {"error_code": 42})
    with pytest.raises(TargetError, match="leaving group g: INVALID_REQUEST"):
        admin.leave("g", "m")


def test_a_group_that_is_gone_is_deleted(fake: Fake, admin: Admin) -> None:
    failing(fake, "delete_groups", 1, lambda _said: whole("delete_groups", error_code=69))
    admin.delete_group("g")


def test_a_group_that_cannot_be_described_is_an_answer(fake: Fake, admin: Admin) -> None:
    denied = {"groups": [{"group_id": "g", "topics": [], "error_code": 30}]}
    failing(fake, "describe_share_group_offsets", 1, lambda _said: denied)
    assert admin.describe("g", "t", 0)[1].error_code == 30


@pytest.mark.parametrize("many", [0, 2])
def test_a_request_for_one_entry_gets_one(fake: Fake, admin: Admin, many: int) -> None:
    failing(fake, "find_coordinator", 1, lambda said: {"coordinators": said["coordinators"] * many})
    with pytest.raises(TargetError, match=f"{many} answers where one was due"):
        admin.find_coordinator("g")


def test_settings_that_were_not_asked_for_are_passed_over(fake: Fake, admin: Admin) -> None:
    names = {"a": "1", "b": None, "c": "3"}
    configs = [{"name": name, "value": value} for name, value in names.items()]
    fake.said["describe_configs"] = lambda _request: whole("describe_configs", configs=configs)
    assert admin.settings(Resource.BROKER, "1", ("a", "b")) == {"a": "1"}
