"""The checks that run against a mutant, in order, until one kills it.

Runs in a process of its own, in which the mutant replaces its module. The project's tests
are imported by name and late, because they import the mutant themselves.
"""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import attrs

ROOT = Path(__file__).parents[2]
"""The checkout, if this is one."""

_BELOW = {
    "spec": {"spec", "judge", "replay", "proofs", "tests"},
    "impl": {"impl", "judge", "replay", "proofs", "tests"},
    "proofs": {"proofs", "tests"},
}
"""What depends on each package, and must be imported again after its mutant."""
_SHORT_STEPS, _LONG_STEPS, _SEED = 1_600, 20_000, 7
_STORIES, _SPOILINGS = 12, 14
_EXPLORED_OFFSETS, _EXPLORED_DEPTH = 2, 6
_PROOF_LIMIT_MS = 1_000
_TRACED_STATES, _TRACED_SITUATIONS = 40, 200
_PYTEST = (
    *("-x", "-q", "--hypothesis-profile=mutants", "--assert=plain"),
    *("-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:unraisableexception"),
    *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # Much is imported already.
)


class NoCheckoutError(Exception):
    """The tests are not in this installation, so no mutant can be checked."""


@attrs.frozen
class Check:
    """A check of a mutant of a module.

    ``notices`` takes the module's name and returns what failed, or an empty text; an exception
    fails too. ``cpu_s`` limits its CPU seconds, at many times what it needs. ``prepare`` is
    called before a mutant replaces its module.
    """

    name: str
    notices: Callable[[str], str]
    cpu_s: float
    packages: tuple[str, ...] = ("spec", "impl", "proofs")
    prepare: Callable[[], object] = lambda: None


def require_checkout() -> None:
    """Raise NoCheckoutError unless the project's tests are here."""
    if not (ROOT / "tests" / "lockstep" / "driver.py").is_file():
        raise NoCheckoutError(f"mutants are checked by the tests, and there are none in {ROOT}")


def warm_up() -> None:
    """Import what every mutant needs; only what depends on a mutant is imported again."""
    sys.path.insert(0, str(ROOT))
    _import("hypothesis.stateful")
    _import("proofs.theorems.catalogue")
    _import("tests.lockstep.driver")
    _import("impl.kernel")
    for name in ("pytest", "pyarrow", "numpy"):
        _import(name)
    hypothesis = _import("hypothesis")
    found = hypothesis.Phase.explicit, hypothesis.Phase.generate
    hypothesis.settings.register_profile(
        "mutants",
        deadline=None,
        derandomize=True,
        database=None,
        phases=found,
        suppress_health_check=list(hypothesis.HealthCheck),  # They look at the clock.
    )


def install(module: str, code: CodeType) -> None:
    """Import ``code`` as the module from now on."""
    rests = _BELOW[module.split(".", maxsplit=1)[0]]
    for name in [name for name in sys.modules if name.split(".")[0] in rests]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(module, code))


class _Finder(MetaPathFinder, Loader):
    """Loads the mutant in place of its module."""

    def __init__(self, module: str, code: CodeType) -> None:
        self._module, self._code = module, code

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._module:
            return None
        found = spec_from_loader(name, self, origin=self._code.co_filename)
        if found:
            found.has_location = True
        return found

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, vars(module))  # noqa: S102 - this is how a module is loaded


@cache
def _is_in_lockstep(module: str) -> bool:
    """Whether the lockstep imports the module. Ask before other checks import more."""
    _import("tests.lockstep.driver")
    return module in sys.modules


def _imports(module: str) -> str:
    _is_in_lockstep(module)
    return ""


def _lockstep(steps: int) -> Callable[[str], str]:
    def drive(module: str) -> str:
        if _is_in_lockstep(module):
            _import("tests.lockstep.driver").drive(seed=_SEED, steps=steps)
        return ""

    return drive


@cache
def _recorded() -> tuple[tuple[Any, Any], ...]:
    """Return recorded events, most with one wrong value, and what the specification reports."""
    spoiled = _import("tests.lockstep.spoiled")
    cases = spoiled.cases(_SEED, _STORIES, _SPOILINGS)
    return tuple((case, spoiled.found_by_specification(case)) for case in cases)


def _recorded_events(_module: str) -> str:
    """Return the first event on which the kernel and the specification disagree."""
    found_by_kernel = _import("tests.lockstep.spoiled").found_by_kernel
    for case, expected in _recorded():
        found = found_by_kernel(case)
        if found != expected:
            return f"{case.profile.name}, {case.spoiled}: {found[:2]}, expected {expected[:2]}"
    return ""


def _own_tests(module: str) -> str:
    """Return the first failing test; outside the lockstep the kernel's tests run too."""
    *folders, name = module.split(".")
    names = [name]
    if folders == ["impl"] and not _is_in_lockstep(module):
        names += ["kernel", "validity"]
    return _pytest(*(f"tests/{'/'.join(folders)}/test_{name}.py" for name in dict.fromkeys(names)))


def _golden(_module: str) -> str:
    return _pytest("tests/spec/test_golden.py")


def _all_tests(module: str) -> str:
    return _pytest(f"tests/{module.split('.', maxsplit=1)[0]}")


def _exploration(module: str) -> str:
    """Return the first violation in a small world that is explored to a few steps."""
    explored, world = (
        _import("tests.proofs.explored").explored,
        _import("proofs.exploration.world").SmallWorld,
    )
    if module not in sys.modules:
        return ""
    _, found = explored(world(offsets=_EXPLORED_OFFSETS), _EXPLORED_DEPTH)
    return found.violation.sentence if found.violation else ""


def _proofs(module: str) -> str:
    """Return the first theorem that the mutant refutes; a timeout of Z3 does not count.

    Only theorems that run code of the module can; those whose control is a rule of it come first.
    """
    harness, catalogue = _import("proofs.theorems.harness"), _import("proofs.theorems.catalogue")
    reaching = [t for t in catalogue.THEOREMS if module in _modules_of_theorems()[t.name()]]
    for theorem in sorted(reaching, key=lambda t: not t.control.target.startswith(f"{module}:")):
        if harness.prove(theorem, _PROOF_LIMIT_MS).verdict is harness.ProofVerdict.REFUTED:
            return str(theorem.name())
    return ""


@cache
def _modules_of_theorems() -> dict[str, set[str]]:
    """Return for each theorem the modules whose code runs for some states that runs reach.

    Before a mutant: the theorems are those of the unchanged modules.
    """
    catalogue, reachable = (
        _import("proofs.theorems.catalogue"),
        _import("proofs.theorems.reachable"),
    )
    found: dict[str, set[str]] = {}
    for theorem in catalogue.THEOREMS:
        states = reachable.states_of(theorem.situation)
        some = states[:: len(states) // _TRACED_STATES + 1]
        situations = (s for _depth, state in some for s in theorem.situation.reached(state))
        found[theorem.name()] = modules_run(theorem, islice(situations, _TRACED_SITUATIONS))
    return found


def modules_run(theorem: Any, situations: Iterable[Any]) -> set[str]:  # noqa: ANN401 - a theorem
    """Return the modules whose functions a theorem calls; all, if none of the situations fits."""
    modules: set[str] = set()
    fitting = [situation for situation in situations if theorem.hypothesis(situation)]
    if not fitting:
        return set(sys.modules)

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            modules.add(str(frame.f_globals.get("__name__")))

    sys.setprofile(note)
    try:
        for situation in fitting:
            theorem.hypothesis(situation)
            theorem.claim(situation)
    finally:
        sys.setprofile(None)
    return modules


def _pytest(*paths: str) -> str:
    """Run the tests in these files or folders and return the first that fails."""
    failed: list[str] = []

    class Watch:
        """Notes which tests fail."""

        def pytest_runtest_logreport(self, report: Any) -> None:  # noqa: ANN401 - pytest's
            if report.failed:
                failed.append(report.nodeid)

        def pytest_collectreport(self, report: Any) -> None:  # noqa: ANN401 - pytest's
            if report.failed:
                failed.append(report.nodeid)

    with contextlib.chdir(ROOT):
        status = int(_import("pytest").main([*_PYTEST, *paths], plugins=[Watch()]))
    return "" if status == 0 else next(iter(failed), f"pytest ended with {status}")


def _import(name: str) -> Any:  # noqa: ANN401 - any module
    return importlib.import_module(name)


CHECKS = (
    Check("import", _imports, 2),
    Check("lockstep", _lockstep(_SHORT_STEPS), 3),
    Check("recorded events", _recorded_events, 20, ("impl",), _recorded),
    Check("own tests", _own_tests, 40),
    Check("golden vectors", _golden, 10, ("spec",)),
    Check("long lockstep", _lockstep(_LONG_STEPS), 40),
    Check("exploration", _exploration, 10),
    Check("proofs", _proofs, 300, ("spec",), _modules_of_theorems),
    Check("all tests", _all_tests, 120),
)
"""Quick checks that kill most mutants come first."""
QUICK = ("import", "lockstep", "recorded events", "own tests", "golden vectors")
"""The checks that run against mutants listed as equivalent."""


def checks_of(package: str, names: Sequence[str] | None = None) -> Iterator[Check]:
    """Yield the checks for mutants of a package, restricted to ``names`` if given."""
    for check in CHECKS:
        if package in check.packages and (names is None or check.name in names):
            yield check
