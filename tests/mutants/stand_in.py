"""``python -m tests.mutants.stand_in MODULE CPU_S TEST... < SOURCE``: run tests of changed code."""

import resource
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_loader
from types import ModuleType

import attrs
import pytest

_MEMORY_BYTES = 3 << 30
_PYTEST = "-x -q -rfE --hypothesis-profile=mutants --assert=plain -p no:cacheprovider -p no:cov"


@attrs.frozen
class StandIn:
    """Finds and loads the changed source whenever its module is imported, also once more."""

    module: str
    source: str

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of the module, in the place of the real one."""
        real = PathFinder.find_spec(name, path) if name == self.module else None
        if real is None:
            return None
        # typeshed's protocol asks for load_module, which importlib deprecates.
        spec = spec_from_loader(name, self, origin=real.origin)  # type: ignore[arg-type]
        if spec:
            spec.has_location = True
        return spec

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leave it to Python to make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source in the module."""
        exec(compile(self.source, str(module.__file__), "exec"), vars(module))  # noqa: S102 - the mutant


def run_tests(module: str, cpu_s: int, tests: list[str], source: str) -> int:
    """Import the source as the module, run tests, and return the exit status of pytest."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
    sys.meta_path.insert(0, StandIn(module, source))
    import_module(module)
    return pytest.main([*_PYTEST.split(), *tests])


if __name__ == "__main__":
    sys.exit(run_tests(sys.argv[1], int(sys.argv[2]), sys.argv[3:], sys.stdin.read()))
