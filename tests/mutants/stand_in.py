"""``python -m tests.mutants.stand_in MODULE CPU_S TEST... < SOURCE``: run tests of changed code."""

import resource
import sys
from importlib.util import find_spec, module_from_spec

import pytest

_MEMORY_BYTES = 3 << 30
_PYTEST = "-x -q -rfE --hypothesis-profile=mutants --assert=plain -p no:cacheprovider -p no:cov"


def run_tests(module: str, cpu_s: int, tests: list[str], source: str) -> int:
    """Import the source as the module, run tests, and return the exit status of pytest."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
    spec = find_spec(module)
    if not spec or not spec.origin:
        raise ModuleNotFoundError(name=module)
    changed = sys.modules[module] = module_from_spec(spec)
    exec(compile(source, spec.origin, "exec"), vars(changed))  # noqa: S102 - the mutant
    package, _, name = module.rpartition(".")
    setattr(sys.modules[package], name, changed)
    return pytest.main([*_PYTEST.split(), *tests])


if __name__ == "__main__":
    sys.exit(run_tests(sys.argv[1], int(sys.argv[2]), sys.argv[3:], sys.stdin.read()))
