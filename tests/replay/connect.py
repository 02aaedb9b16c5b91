"""Run in a process of its own: a Spark Connect server, and a table that is checked through it.

Argument: the table's address. Prints its verdicts as JSON, and how many rows of lag there are and
are written.
"""

import json
import sys

import click
from pyspark.sql import SparkSession

from replay.frame import check, replay_table
from replay.java import prepare_environment
from replay.plan import Plan


def main(address: str) -> None:
    prepare_environment()
    session = SparkSession.builder.remote("local[1]").getOrCreate()
    try:
        plan = Plan(against=("impl",), invariants_every=0)
        checked = check(session.read.parquet(address), plan)
        rows = checked.verdicts.select("partition", "verdict", "checked").collect()
        told = replay_table(session, address, plan, f"{address}.out").verdicts
        assert [[v.partition, v.verdict, v.checked] for v in told] == sorted(map(list, rows))
        written = session.read.parquet(f"{address}.out/lag").count()
        click.echo(json.dumps([sorted(map(list, rows)), checked.lag.count(), written]))
    finally:
        session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
