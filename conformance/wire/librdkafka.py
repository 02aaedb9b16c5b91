"""librdkafka's mock cluster, run in this process from the wheel of confluent-kafka.

The wheel contains librdkafka as a C library, which exports the functions of rdkafka_mock.h. Python
has no other access to them, and they may change, so the version is pinned.
"""

import ctypes
import sys
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from conformance.build import BuildRecipe, build
from conformance.target import TargetError
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig

WHEEL = "2.16.1"
"""The required version of confluent-kafka."""

LIBRDKAFKA = "2.16.0"
"""The version of librdkafka in it."""

WHEELS = ("2.15.0", "2.15.1", "2.16.0", WHEEL)
"""The versions of confluent-kafka whose mock cluster has share groups."""

_NAME = "confluent-kafka"
_PRODUCER = 0
_MESSAGE_BYTES = 512
_RESETS = (AutoOffsetReset.LATEST, AutoOffsetReset.EARLIEST)
_LEVELS = (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED)

_SIGNATURES = {
    "rd_kafka_version_str": (c_char_p, ()),
    "rd_kafka_err2str": (c_char_p, (c_int,)),
    "rd_kafka_conf_new": (c_void_p, ()),
    "rd_kafka_conf_set": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)),
    "rd_kafka_new": (c_void_p, (c_int, c_void_p, c_char_p, c_size_t)),
    "rd_kafka_destroy": (None, (c_void_p,)),
    "rd_kafka_mock_cluster_new": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_mock_cluster_destroy": (None, (c_void_p,)),
    "rd_kafka_mock_cluster_bootstraps": (c_char_p, (c_void_p,)),
    "rd_kafka_mock_topic_create": (c_int, (c_void_p, c_char_p, c_int, c_int)),
    "rd_kafka_mock_topic_delete": (c_int, (c_void_p, c_char_p)),
    "rd_kafka_mock_partition_delete_records": (c_int, (c_void_p, c_char_p, c_int32, c_int64)),
    "rd_kafka_mock_sharegroup_set_record_lock_duration": (None, (c_void_p, c_int)),
    "rd_kafka_mock_sharegroup_set_max_delivery_attempts": (None, (c_void_p, c_int)),
    "rd_kafka_mock_sharegroup_set_max_record_locks": (None, (c_void_p, c_int)),
    "rd_kafka_mock_sharegroup_set_auto_offset_reset": (None, (c_void_p, c_int)),
    "rd_kafka_mock_sharegroup_set_isolation_level": (None, (c_void_p, c_int)),
}


class MockCluster:
    """A mock cluster of one broker on 127.0.0.1; close it when done. All errors are TargetError."""

    def __init__(self, version: str = "") -> None:
        """Start it: of the wheel that is installed, or of another version of ``WHEELS``."""
        self._library = _library(version)
        conf = self._library.rd_kafka_conf_new()
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        buffer = (message, _MESSAGE_BYTES)
        self._library.rd_kafka_conf_set(conf, b"log_level", b"0", *buffer)
        self._client = self._library.rd_kafka_new(_PRODUCER, conf, *buffer)
        if not self._client:
            raise TargetError(f"librdkafka does not start: {message.value.decode()}")
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._client, 1)
        if not self._cluster:
            self.close()
            raise TargetError("librdkafka does not start a mock cluster")

    @property
    def version(self) -> str:
        """Return the version of librdkafka."""
        text: bytes = self._library.rd_kafka_version_str()
        return text.decode()

    @property
    def bootstrap(self) -> str:
        """Return host and port of the broker."""
        address: bytes = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        return address.decode()

    def configure(self, config: SharePartitionConfig) -> None:
        """Set the configuration of every group, present and future."""
        settings = {
            "record_lock_duration": config.record_lock_duration_ms,
            "max_delivery_attempts": config.delivery_count_limit,
            "max_record_locks": config.partition_max_record_locks,
            "auto_offset_reset": _RESETS.index(config.auto_offset_reset),
            "isolation_level": _LEVELS.index(config.isolation_level),
        }
        for name, value in settings.items():
            getattr(self._library, f"rd_kafka_mock_sharegroup_set_{name}")(self._cluster, value)

    def do(self, function: str, topic: str, *arguments: int) -> None:
        """Call a function of rdkafka_mock.h about a topic, by its name after ``rd_kafka_mock_``."""
        called = getattr(self._library, f"rd_kafka_mock_{function}")
        if error := called(self._cluster, topic.encode(), *arguments):
            why = self._library.rd_kafka_err2str(error).decode()
            about = " ".join(map(str, (function, topic, *arguments)))
            raise TargetError(f"librdkafka's mock cluster does not do {about}: {why}")

    def close(self) -> None:
        """Stop it; a second call does nothing."""
        cluster, self._cluster = self._cluster, None
        client, self._client = self._client, None
        if cluster:
            self._library.rd_kafka_mock_cluster_destroy(cluster)
        if client:
            self._library.rd_kafka_destroy(client)


@cache
def _library(wheel: str) -> ctypes.CDLL:
    library = ctypes.CDLL(str(_downloaded(wheel) if wheel else library_path()))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    version = library.rd_kafka_version_str().decode()
    if not wheel and version != LIBRDKAFKA:
        raise TargetError(f"the wheel carries librdkafka {version}, not {LIBRDKAFKA}")
    return library


def library_path() -> Path:
    """Return the library in the wheel. Raises TargetError if it is missing or another version."""
    install = f"pip install confluent-kafka=={WHEEL}"
    try:
        wheel = distribution(_NAME)
    except PackageNotFoundError:
        raise TargetError(f"confluent-kafka is not installed: {install}") from None
    if wheel.version != WHEEL:
        other = f", or give --version {wheel.version}" if wheel.version in WHEELS else ""
        raise TargetError(f"confluent-kafka is of version {wheel.version}: {install}{other}")
    for file in wheel.files or ():
        if file.name.startswith("librdkafka"):
            return Path(str(file.locate()))
    raise TargetError(f"confluent-kafka {WHEEL} came without librdkafka: use its Linux wheel")


def with_wheel(project: Path, wheel: str) -> Path:
    """Return a copy of a project that has another wheel in ``wheel``, fetched by pip once.

    Raises TargetError if it is none of ``WHEELS``, or pip cannot have it.
    """
    if wheel not in WHEELS:
        allowed = ", ".join(WHEELS)
        raise TargetError(f"confluent-kafka {wheel!r:.40} cannot be driven; allowed: {allowed}")
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    recipe = BuildRecipe(
        f"librdkafka of confluent-kafka {wheel}",
        "Python with pip",
        (sys.executable, *pip, "--only-binary=:all:", "--target", "wheel", f"{_NAME}=={wheel}"),
        ("known.toml",),
        "wheel",
        300,
    )
    # Each version has a copy of its own: one whose files say which it is.
    return build(project, recipe, lambda _path, data: data + f"\n# {wheel}\n".encode())


def _downloaded(wheel: str) -> Path:
    project = with_wheel(Path(__file__).parents[1] / "targets" / "librdkafka-mock", wheel)
    for found in project.glob("wheel/*.libs/librdkafka*.so*"):
        return found
    raise TargetError(f"confluent-kafka {wheel} came without librdkafka: it has no Linux wheel")
