"""``sharespec serve``: the specification as a Kafka broker."""

import asyncio
import logging
import signal
from ipaddress import ip_address
from pathlib import Path

import attrs
import click

from conformance.target import TargetError
from conformance.wire.connection import MOST_PORT, Address
from model.errors import InvalidValueError
from serve.batches import RefusedError
from serve.running import BROKER_PREFIX, GROUP_PREFIX, RESET, options_of
from serve.server import Server
from serve.topics import create_topic
from sharespec.commands.options import Number, OneOf
from sharespec.exit import exits_on

_ALL = f"--config {RESET}=earliest"


def _address(_context: click.Context, _option: click.Parameter, text: str | None) -> Address | None:
    try:
        return None if text is None else Address.parse(text, least=0)
    except TargetError as error:
        raise click.BadParameter(str(error)) from None


def _settings(
    _context: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for name, equals, _value in pairs:
        if not equals or not name.startswith((GROUP_PREFIX, BROKER_PREFIX)):
            raise click.BadParameter(f"{name[:80]!r} is not share.NAME=VALUE of a group")
    return {name: value for name, _equals, value in pairs}


def _topics(
    _context: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, int | None]:
    topics: dict[str, int | None] = {}
    for text in texts:
        name, colon, count = text.partition(":")
        if colon and not (count.isdecimal() and len(count) < len(str(MOST_PORT))):
            raise click.BadParameter(f"{text[:80]!r} is not NAME or NAME:PARTITIONS")
        topics[name] = int(count) if colon else None
    return topics


@click.command("serve")
@click.option(
    "--listen",
    default="127.0.0.1:9092",
    metavar="HOST:PORT",
    callback=_address,
    help="Where to listen; port 0 takes a free one.",
)
@click.option(
    "--advertise",
    metavar="HOST:PORT",
    callback=_address,
    help="What clients are told, as in a container; port 0: as --listen; default: as --listen.",
)
@click.option(
    "--brokers",
    type=click.IntRange(1, 10),
    default=1,
    help="How many brokers; each listens on the next port after the one before.",
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="NAME[:PARTITIONS]",
    callback=_topics,
    help="Create a topic at once; may be given several times.",
)
@click.option(
    "--partitions",
    type=click.IntRange(1, 1000),
    default=1,
    help="How many partitions a topic has that does not say.",
)
@click.option(
    "--auto-create/--no-auto-create",
    default=True,
    help="Create a topic when a client asks for it by name.",
)
@click.option(
    "--profile",
    type=OneOf(["kip", "kafka"]),
    default="kafka",
    help="The rules that the broker follows.",
)
@click.option(
    "--config",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_settings,
    help="share.NAME of every group, or group.share.NAME of the broker; several times.",
)
@click.option(
    "--speed",
    type=Number(0.001, 100_000),
    default=1.0,
    help="How many times faster than time acquisition locks end.",
)
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write what happens as a trace, which `sharespec replay FILE` judges.",
)
@exits_on(InvalidValueError, RefusedError)
def serve_command(  # noqa: PLR0913 - one for each option
    *,
    listen: Address,
    advertise: Address | None,
    brokers: int,
    topics: dict[str, int | None],
    partitions: int,
    auto_create: bool,
    profile: str,
    settings: dict[str, str],
    speed: float,
    trace: Path | None,
) -> None:
    """Serve share groups over Kafka's protocol, every answer computed by the specification.

    In memory, until it is interrupted (Ctrl-C). It prints the addresses of its brokers once they
    are ready, as clients take them to begin with.
    """
    logging.basicConfig(format="%(message)s")
    options = attrs.evolve(
        options_of(settings, profile, partitions, brokers), auto_create=auto_create
    )
    for first in filter(None, (listen, advertise)):
        if first.port + brokers - 1 > MOST_PORT:
            text = f"{brokers} brokers from port {first.port} on: {MOST_PORT} is the last"
            raise click.BadParameter(text)
    server = Server(options, speed)
    for name, count in topics.items():
        create_topic(server.cluster, name, partitions if count is None else count)
    if RESET not in settings:
        click.echo(f"a group gets what is produced after it began; all with {_ALL}", err=True)
    if not _is_loopback(listen.host):
        click.echo("warning: who reaches this address can write and read everything", err=True)
    asyncio.run(_serve(server, listen, advertise, trace))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _serve(
    server: Server, listen: Address, advertise: Address | None, trace: Path | None
) -> None:
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    if trace is not None:
        server.cluster.start_trace(trace)
    try:
        click.echo(",".join(map(str, await server.start(listen, advertise))))
        await server.serve_until(over)
    finally:
        await server.stop()
