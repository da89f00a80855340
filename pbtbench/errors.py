"""Every error that pbtbench raises on purpose, as one tree.

::

    PbtbenchError                      exit code   retry   answer judged   counts as 0
    ├── UsageError                         2         no        no              no
    │   ├── SelectionError                 2         no        no              no
    │   ├── ConfigurationError             2         no        no              no
    │   ├── ProblemError                   2         no        no              no
    │   │   └── PatchError                 2         no        no              no
    │   └── AnswerError                    2         no        no              yes
    ├── MachineError                       3         no        no              no
    │   ├── SandboxUnavailableError        3         no        no              no
    │   ├── DownloadError                  3         yes       no              no
    │   │   └── HashMismatchError          3         no        no              no
    │   ├── BuildError                     3         no        no              no
    │   │   └── LeakError                  3         no        no              no
    │   └── DiskFullError                  3         no        no              no
    └── TrialError                         1         -         -               -
        ├── InfraError                     1         yes       no              no
        │   └── SandboxDiedError           1         yes       no              no
        └── AgentError                     1         no        yes             yes

The columns are class attributes, so policy is data: code that catches an error asks the error what
to do with it and never tests its type a second time.
"""

from __future__ import annotations

from typing import ClassVar


class PbtbenchError(Exception):
    """Base of all expected errors.

    ``str(error)`` is one line that says what is wrong, where, and (``hint``) what to do about it.
    """

    exit_code: ClassVar[int] = 1
    retry: ClassVar[bool] = False
    judge_anyway: ClassVar[bool] = False
    counts_as_zero: ClassVar[bool] = False

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.message = message
        self.where = where
        self.hint = hint
        parts = [f"{where}: {message}" if where else message]
        if hint:
            parts.append(hint)
        super().__init__(". ".join(part.rstrip(".") for part in parts))


class UsageError(PbtbenchError):
    """The command line, a configuration file or an input file is wrong."""

    exit_code = 2


class SelectionError(UsageError):
    """A name or pattern selects nothing, or something that does not exist."""


class ConfigurationError(UsageError):
    """A configuration is malformed, or differs from the one a run folder was started with."""


class ProblemError(UsageError):
    """A problem or library file is malformed; ``where`` is ``file:line``."""


class PatchError(ProblemError):
    """A patch does not apply or reverse exactly; ``where`` is ``patch: file, hunk, line``."""


class AnswerError(UsageError):
    """An answer cannot be taken: missing, a link, a folder, or larger than the cap."""

    counts_as_zero = True


class MachineError(PbtbenchError):
    """This machine lacks something that the command needs."""

    exit_code = 3


class SandboxUnavailableError(MachineError):
    """No sandbox backend can isolate here; the message says why for each one tried."""


class DownloadError(MachineError):
    """A pinned file could not be fetched from the package index."""

    retry = True


class HashMismatchError(DownloadError):
    """A downloaded or cached file is not the pinned one."""

    retry = False


class BuildError(MachineError):
    """An image could not be built."""


class LeakError(BuildError):
    """The leak scan found something of the clean library, or a hint, in what an agent would see."""


class DiskFullError(MachineError):
    """No space left where pbtbench writes."""


class TrialError(PbtbenchError):
    """Something went wrong inside one trial."""


class InfraError(TrialError):
    """The machine, the network or the model service failed; the trial is retried, never scored."""

    retry = True


class SandboxDiedError(InfraError):
    """A sandbox ended by itself or stopped answering."""


class AgentError(TrialError):
    """The agent itself failed; what it left behind is judged."""

    judge_anyway = True
    counts_as_zero = True
