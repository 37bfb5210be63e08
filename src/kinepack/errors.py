"""Everything Kinepack raises on purpose. Each child says who is at fault and carries the CLI's exit code."""

from __future__ import annotations


class KinepackError(Exception):
    """Root of all errors: a message of one line, and a hint that says what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class UsageError(KinepackError):
    """The caller asked for something that makes no sense."""

    exit_code = 2


class ConfigError(UsageError):
    """A codec setting is unknown, of the wrong type or out of range; or an optional package is missing."""


class UnknownCodec(UsageError):
    """No codec (or metric, or format) has that name; the hint lists near matches."""


class FormatError(KinepackError):
    """A source file is not what its format says; the message starts with file and line where known."""

    exit_code = 3

    def __init__(self, message: str, *, file: str = "", line: int = 0, hint: str = "") -> None:
        self.reason, self.file, self.line = message, file, line
        place = ":".join(part for part in (file, str(line) if line else "") if part)
        super().__init__(f"{place}: {message}" if place else message, hint=hint)

    def in_file(self, file: str) -> FormatError:
        """The same error, told of `file` by a caller that knows its name."""
        return self if self.file else type(self)(self.reason, file=file, line=self.line, hint=self.hint)


class UnsupportedContent(FormatError):
    """The source is fine but the target format or codec cannot hold it."""


class BitstreamError(KinepackError):
    """A compressed stream cannot be decoded."""

    exit_code = 4


class Truncated(BitstreamError):
    """The stream ends before its content does."""


class Corrupt(BitstreamError):
    """A checksum or an invariant of the stream does not hold."""


class UnsupportedVersion(BitstreamError):
    """The stream was written by a newer Kinepack, or by a codec this one does not have."""


class LimitExceeded(KinepackError):
    """A size declared by a file is over the caller's limits; nothing was allocated."""

    exit_code = 5


class TargetUnreachable(KinepackError):
    """No setting of the codec meets the asked quality or size."""

    exit_code = 6


class IOFailure(KinepackError):
    """The file system or network said no."""

    exit_code = 7
