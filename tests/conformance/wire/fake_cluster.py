"""A cluster of one broker in memory that tells of itself, and that may ask for a login."""

import base64
import hashlib
import hmac

from conformance.wire.messages import Message
from tests.conformance.wire.fake import Fake, whole

EVERYTHING = (1 << 3) | (1 << 11)
SALT, ROUNDS = b"salt", 64


class FakeCluster(Fake):
    """``may`` are the bits of what its user may do; ``level`` is that of its request log."""

    def __init__(self) -> None:
        super().__init__()
        self.may = EVERYTHING
        self.topic_error = 0
        self.logger: dict[str, str] = {"kafka.request.logger": "WARN"}
        self.features = {"share.version": 1}
        self.settings = {"group.share.delivery.count.limit": "5", "log.dirs": "/data"}
        self.versions |= {16: (0, 5), 60: (0, 1)}

    def api_versions(self, request: Message) -> Message:
        level = [
            {"name": name, "max_version_level": level, "min_version_level": level}
            for name, level in self.features.items()
        ]
        return super().api_versions(request) | {"finalized_features": level}

    def metadata(self, request: Message) -> Message:
        body = super().metadata(request)
        topics = [{**t, "error_code": self.topic_error, "topic_authorized_operations": self.may}
                  for t in body["topics"]]  # fmt: skip
        return body | {"topics": topics}

    def describe_cluster(self, _request: Message) -> Message:
        brokers = [{"broker_id": broker["node_id"], **broker} for broker in self.brokers]
        return {"cluster_id": "c", "brokers": brokers, "cluster_authorized_operations": self.may}

    def describe_configs(self, request: Message) -> Message:
        found = self.logger if request.resources[0].resource_type == 8 else self.settings
        configs = [{"name": name, "value": value} for name, value in found.items()]
        return whole("describe_configs", configs=configs)

    def list_groups(self, _request: Message) -> Message:
        return {"groups": [{"group_id": "g"}]}


class Guarded(FakeCluster):
    """It wants a user and a password, by PLAIN or SCRAM-SHA-256, before anything else."""

    user, password = "me", "secret"

    def __init__(self) -> None:
        super().__init__()
        self.lies = False
        self._challenge = ""

    def sasl_handshake(self, request: Message) -> Message:
        known = ["PLAIN", "SCRAM-SHA-256"]
        return {"error_code": 0 if request.mechanism in known else 33, "mechanisms": known}

    def sasl_authenticate(self, request: Message) -> Message:
        came = request.auth_bytes.decode()
        if came.startswith("\0"):
            return self._verdict(came == f"\0{self.user}\0{self.password}", b"")
        if came.startswith("n,,"):
            nonce = came.rpartition("r=")[2] + "server"
            salt = base64.b64encode(SALT).decode()
            self._first, self._challenge = came[3:], f"r={nonce},s={salt},i={ROUNDS}"
            return self._verdict(True, self._challenge.encode())  # noqa: FBT003
        bare, _, proof = came.rpartition(",p=")
        signed = f"{self._first},{self._challenge},{bare}".encode()
        salted = hashlib.pbkdf2_hmac("sha256", self.password.encode(), SALT, ROUNDS)
        key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        right = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        server = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), signed, "sha256")
        verdict = b"v=" + base64.b64encode(b"lie" if self.lies else server)
        return self._verdict(base64.b64decode(proof) == right, verdict)

    def _verdict(self, well: bool, data: bytes) -> Message:  # noqa: FBT001
        text = None if well else "Authentication failed"
        code = 0 if well else 58
        return {"error_code": code, "error_message": text, "auth_bytes": data}
