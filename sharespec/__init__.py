"""The public interface of sharespec; the command is in ``sharespec.cli``.

>>> replay = replay_sources(HereRunner(), find_sources(["traces"]), Plan())
>>> with open_session() as session:
...     replay = replay_sources(SparkRunner(session), find_sources(["traces"]), Plan())

A DataFrame with the columns of a trace, however Spark came by it, gives DataFrames:

>>> check(spark.table("lake.share_events"), Plan()).verdicts.where("verdict != 'conforms'").show()

Single operations are in ``spec.step`` and ``impl.partition``, the vocabulary in ``model``: in the
wheel ``sharespec.spec.step`` and so on, for it puts one name into ``site-packages``.
"""

from importlib import import_module

TYPE_CHECKING = False  # `typing` takes longer to load than what is here.
if TYPE_CHECKING:
    from sharespec.api import *  # noqa: F403 - what __getattr__ returns


def __getattr__(name: str) -> object:
    """Return a name of ``sharespec.api``: only who uses one waits for Spark and Numba."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - no command waits for it

        return version("sharespec")
    return getattr(import_module("sharespec.api"), name)
