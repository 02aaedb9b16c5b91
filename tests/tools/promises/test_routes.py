from model.rules import RULES, RuleKind
from tests.doubles.share_faults import Fault
from tools.promises.routes import BREAKS, ROUTES, found_by


def test_each_claim_of_a_route_has_faulty_implementations_that_are_found_there() -> None:
    """The tests of brokers, request logs and clients find each of these; test_faces the others."""
    routes = [found_by(promise) for promise in RULES[RuleKind.PROMISE]]
    wired = [fault for found in routes for fault in found["wire"]]
    assert sorted(wired) == sorted(fault for fault, promise in BREAKS.items() if promise)
    assert {fault for found in routes for fault in found["client"]} <= set(Fault.__members__)
    assert all(found["trace"] for found in routes)
    assert sum(bool(found["request log"]) for found in routes) > 10


def test_the_tables_of_routes_name_promises_alone() -> None:
    assert ROUTES.keys() == {"client", "untold"}
    assert set().union(BREAKS.values(), *ROUTES.values()) - {""} <= RULES[RuleKind.PROMISE].keys()
