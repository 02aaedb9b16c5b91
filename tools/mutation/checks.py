"""The checks that run against a mutant, in order, until one kills it.

Runs in a process of its own, in which the mutant replaces its module. The project's tests
are imported by name and late, because they import the mutant themselves.
"""

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from itertools import islice
from pathlib import Path
from random import Random
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
_OF_RULES = {"spec", "impl"}
"""The packages that ``tests/rules`` tests both."""
_SHORT_STEPS, _LONG_STEPS, _SEED = 1_600, 20_000, 7
_STORIES, _SPOILINGS = 12, 14
_EXPLORED_OFFSETS, _EXPLORED_DEPTH = 2, 6
_PROOF_LIMIT_MS, _PROOFS_CPU_S = 1_000, 30
_TRACED_STATES, _TRACED_SITUATIONS, _TRACED = 40, 200, 8
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

    ``notices`` takes the names of the mutant's module and function, and returns what failed, or an
    empty text; an exception fails too. ``cpu_s`` limits its CPU seconds, at many times what it
    needs. ``prepare`` is called before a mutant replaces its module.
    """

    name: str
    notices: Callable[[str, str], str]
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
    phases = hypothesis.Phase.explicit, hypothesis.Phase.generate
    hypothesis.settings.register_profile(
        "mutants",
        deadline=None,
        derandomize=True,
        database=None,
        phases=phases,
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
        spec = spec_from_loader(name, self, origin=self._code.co_filename)
        if spec:
            spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, vars(module))  # noqa: S102 - this is how a module is loaded


@cache
def _is_in_lockstep(module: str) -> bool:
    """Whether the lockstep imports the module. Ask before other checks import more."""
    _import("tests.lockstep.driver")
    return module in sys.modules


def _imports(module: str, _function: str) -> str:
    _is_in_lockstep(module)
    return ""


def _lockstep(steps: int) -> Callable[[str, str], str]:
    def drive(module: str, _function: str) -> str:
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


def _recorded_events(_module: str, _function: str) -> str:
    """Return the first event on which the kernel and the specification disagree."""
    found_by_kernel = _import("tests.lockstep.spoiled").found_by_kernel
    for case, expected in _recorded():
        finding = found_by_kernel(case)
        if finding != expected:
            return f"{case.profile.name}, {case.spoiled}: {finding[:2]}, expected {expected[:2]}"
    return ""


def _own_tests(module: str, _function: str) -> str:
    """Return the first failing test; outside the lockstep the kernel's tests run too."""
    *folders, name = module.split(".")
    names = [name]
    if folders == ["impl"] and not _is_in_lockstep(module):
        names += ["kernel", "validity"]
    found = (path for name in dict.fromkeys(names) for path in _test_modules(folders, name))
    return _pytest(*dict.fromkeys(found))


def _test_modules(folders: list[str], name: str) -> list[str]:
    """Return the test modules of a module; all of the rules if none has its name."""
    paths = [f"tests/{'/'.join(folders)}/test_{name}.py"]
    if folders[0] in _OF_RULES:
        paths.append(f"tests/rules/test_{name}.py")
    return [path for path in paths if ROOT.joinpath(path).is_file()] or ["tests/rules"]


def _golden(_module: str, _function: str) -> str:
    return _pytest("tests/spec/test_golden.py")


def _all_tests(module: str, _function: str) -> str:
    package = module.split(".", maxsplit=1)[0]
    return _pytest(f"tests/{package}", *(["tests/rules"] if package in _OF_RULES else []))


def _exploration(module: str, _function: str) -> str:
    """Return the first violation in a small world that is explored to a few steps."""
    explored, world = (
        _import("tests.proofs.explored").explored,
        _import("proofs.exploration.world").SmallWorld,
    )
    if module not in sys.modules:
        return ""
    _, _, result = explored(world(offsets=_EXPLORED_OFFSETS), _EXPLORED_DEPTH)
    return result.violation.reason if result.violation else ""


def _proofs(module: str, function: str) -> str:
    """Return the first theorem that the mutant refutes; a timeout of Z3 does not count.

    What is not refuted in so much time has not been noticed.
    """
    harness = _import("proofs.theorems.harness")
    until = time.process_time() + _PROOFS_CPU_S
    for theorem in theorems_about(module, function):
        if time.process_time() > until:
            break
        if harness.prove(theorem, _PROOF_LIMIT_MS).verdict is harness.ProofVerdict.REFUTED:
            return str(theorem.name())
    return ""


def theorems_about(module: str, function: str) -> list[Any]:
    """Return the theorems that run the function; of a class or a constant, those of its module.

    Those whose control is the function come first, then those that run little else.
    """
    known, target = _functions_of_theorems(), f"{module}:{function.partition('.')[0]}"

    def runs(theorem: Any) -> bool:  # noqa: ANN401 - a theorem
        return (module, function) in known[theorem.name()]

    def distance(theorem: Any) -> tuple[bool, int]:  # noqa: ANN401 - a theorem
        return theorem.control.target != target, len(known[theorem.name()])

    every = _import("proofs.theorems.catalogue").THEOREMS
    of_function = [theorem for theorem in every if runs(theorem)]
    of_module = (t for t in every if module in {name for name, _function in known[t.name()]})
    return sorted(of_function or of_module, key=distance)


@cache
def _functions_of_theorems() -> dict[str, set[tuple[str, str]]]:
    """Return for each theorem the functions that run for some states that runs reach.

    Before a mutant: the theorems are those of the unchanged modules.
    """
    catalogue, reachable = (
        _import("proofs.theorems.catalogue"),
        _import("proofs.theorems.reachable"),
    )
    functions: dict[str, set[tuple[str, str]]] = {}
    for theorem in catalogue.THEOREMS:
        states = reachable.states_of(theorem.situation)
        some = states[:: len(states) // _TRACED_STATES + 1]
        every = (s for _depth, state in some for s in theorem.situation.reached(state))
        situations = list(islice(every, _TRACED_SITUATIONS))
        Random(_SEED).shuffle(situations)  # noqa: S311 - the same each time; nothing secret
        traced = functions_run(theorem, situations)
        functions[theorem.name()] = traced or functions_run(theorem, _witnesses(theorem))
    return functions


def _witnesses(theorem: Any) -> Iterator[Any]:  # noqa: ANN401 - a theorem
    """Yield the first situation that a run reaches and that fits the theorem."""
    witness = _import("proofs.theorems.reachable").witness(theorem)
    if witness:
        yield witness.situation


def functions_run(theorem: Any, situations: Iterable[Any]) -> set[tuple[str, str]]:  # noqa: ANN401 - a theorem
    """Return module and name of each function that a theorem calls, in a few that fit it."""
    called: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            name = frame.f_code.co_qualname.partition(".<locals>")[0]
            called.add((str(frame.f_globals.get("__name__")), name))

    for situation in islice(filter(theorem.hypothesis, situations), _TRACED):
        sys.setprofile(note)
        try:
            theorem.hypothesis(situation)
            theorem.claim(situation)
        finally:
            sys.setprofile(None)
    return called


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
    Check("proofs", _proofs, 300, ("spec",), _functions_of_theorems),
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
