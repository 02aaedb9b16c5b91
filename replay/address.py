"""Addresses of files that Spark opens: what lies under one, before anything is read."""

import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # not typed
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from replay.session import first_line
from replay.sources import SUFFIXES, Form, NoSuchTraceError, Source, Sources, local_path
from replay.survey import GENERATED

T_ = TypeVar("T_")

_PORTS = {"hdfs": 8020}
"""The ports of servers that an address may leave out, by scheme."""

_ANSWER_SECONDS = 10
"""How long a server may take to accept a connection."""

_FORMS = {".gz": Form.GZIP, ".parquet": Form.PARQUET}


def shown(path: str) -> str:
    """Return a path as Spark tells it of a row, an escaped address, as a result names it."""
    return local_path(unquote(path))


def find_addressed(session: SparkSession, addresses: Iterable[str]) -> Sources:
    """Return the files under addresses, each once; their names say what form they have.

    Raises NoSuchTraceError for what cannot be opened and for folders that hold no trace.
    """
    files: dict[str, Source] = {}
    passed_over: list[str] = []
    addresses = list(addresses)
    for address in addresses:
        for name, size, named in _opened(address, lambda a: list(_within(session, a))):
            if named and not name.endswith(SUFFIXES):
                passed_over.append(name)
            else:
                form = _FORMS.get(PurePosixPath(name).suffix, Form.LINES)
                files.setdefault(name, Source(name, form, size))
    if not files:
        raise NoSuchTraceError(
            f"there is no trace in {', '.join(addresses)}; "
            f"a folder is searched for {', '.join(SUFFIXES)}"
        )
    ordered = sorted(files.values(), key=lambda source: source.path)
    return Sources(tuple(ordered), (), tuple(sorted(passed_over)))


def make_folder(session: SparkSession, address: str) -> None:
    """Make a folder, which shows that Spark can write there. Raises NoSuchTraceError."""

    def make(where: str) -> None:
        system, path = _system(session, where)
        system.mkdirs(path)

    _opened(address, make)


def ends_whole(session: SparkSession, source: Source) -> bool:
    """Return whether the last byte of a file of plain lines is a line feed."""
    system, path = _system(session, source.path)
    stream = system.open(path)
    try:
        stream.seek(source.size - 1)
        return bool(stream.read() == ord("\n"))
    finally:
        stream.close()


def is_generated(session: SparkSession, source: Source) -> bool:
    """Return whether a Parquet file says that the implementation computed its results."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - there is no other way to Hadoop
    _, path = _system(session, source.path)
    footer = jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(_configured(session), path)
    named = footer.getFileMetaData().getKeyValueMetaData()
    return bool(named.containsKey(GENERATED.decode()))


def _opened(address: str, use: Callable[[str], T_]) -> T_:
    """Use an address; raise NoSuchTraceError, in one line, if it cannot be opened."""
    try:
        _check_answers(address)
        return use(address)
    except (PySparkException, Py4JError, OSError, ValueError) as error:
        reason = " ".join(first_line(error).split())
        raise NoSuchTraceError(f"{address} cannot be opened: {reason}") from None


def _check_answers(address: str) -> None:
    """Raise OSError if the server of an address accepts no connection.

    Hadoop tries for minutes. A name that is none of a host may be one of its configuration.
    """
    place = urlsplit(address)
    port = place.port or _PORTS.get(place.scheme)
    if not (place.hostname and port):
        return
    try:
        socket.getaddrinfo(place.hostname, port)
    except OSError:
        return
    socket.create_connection((place.hostname, port), _ANSWER_SECONDS).close()


def _configured(session: SparkSession) -> Any:  # noqa: ANN401 - an object of Java
    return session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - as below


def _system(session: SparkSession, address: str) -> tuple[Any, Any]:
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - there is no other way to Hadoop
    path = jvm.org.apache.hadoop.fs.Path(address)
    return path.getFileSystem(_configured(session)), path


def _within(session: SparkSession, address: str) -> Iterator[tuple[str, int, bool]]:
    """Yield name and size of the files of a folder, hidden ones aside; or the file.

    The last says whether a name decides if the file is read, as in folders.
    """
    system, path = _system(session, address)
    status = system.getFileStatus(path)
    if not status.isDirectory():
        yield _name(status), status.getLen(), False
        return
    top = _name(status)
    each = system.listFiles(path, True)  # noqa: FBT003 - Java's
    while each.hasNext():
        status = each.next()
        name = _name(status)
        parts = name.removeprefix(top).strip("/").split("/")
        if not any(part.startswith((".", "_")) for part in parts):
            yield name, status.getLen(), True


def _name(status: Any) -> str:  # noqa: ANN401 - an object of Java
    return local_path(status.getPath().toString())
