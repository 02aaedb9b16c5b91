"""What every target raises when it cannot be driven."""


class TargetError(Exception):
    """A target cannot be driven: it is silent, has ended, or does not speak the protocol."""


class GoneError(TargetError):
    """It is silent, or it has ended."""
