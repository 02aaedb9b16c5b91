import tomllib
from pathlib import Path

import tools.promises
from model.rules import RULES, RuleKind
from tests.doubles.share_faults import Fault
from tools.promises.routes import found_by, named


def test_each_claim_of_a_route_has_faulty_implementations_that_are_found_there() -> None:
    """The tests of brokers, request logs and clients find each of these; test_faces the others."""
    brokers = Path(tools.promises.__file__).with_name("brokers.toml").read_text("utf-8")
    planted = {f for promise in tomllib.loads(brokers)["promise"] for f in promise["faults"]}
    routes = [found_by(promise) for promise in RULES[RuleKind.PROMISE]]
    wired = [fault for found in routes for fault in found["wire"]]
    assert set(wired) <= planted
    assert len(set(wired)) == len(wired)
    assert {fault for found in routes for fault in found["client"]} <= set(Fault.__members__)
    assert all(found["trace"] for found in routes)
    assert sum(bool(found["request log"]) for found in routes) > 10


def test_the_table_of_routes_names_promises_alone() -> None:
    assert named().keys() == {"wire", "client", "untold"}
    assert set().union(*named().values()) <= RULES[RuleKind.PROMISE].keys()
