"""Where everything of a run lies.

::

    runs/<name>/
    ├── run.json                 resolved configuration, versions, digests
    ├── journal.jsonl            what happened, append-only
    ├── summary.json             metrics, always recomputed
    ├── lock                     held by the process that works here
    └── trials/<problem>/<cell>/r<k>/
        ├── trial.json           how far the trial is
        ├── prompt.md            the prompt as the agent got it
        ├── agent.log            what the agent printed
        ├── answer/pbt_test.py   the answer, byte for byte
        ├── outcomes.jsonl       what each test did on each tree
        └── verdicts.json        which bugs were found
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TrialPaths:
    """Paths of one trial."""

    folder: Path

    @property
    def trial_json(self) -> Path:
        """State and records."""
        return self.folder / "trial.json"

    @property
    def prompt(self) -> Path:
        """The rendered prompt."""
        return self.folder / "prompt.md"

    @property
    def agent_log(self) -> Path:
        """Output of the agent."""
        return self.folder / "agent.log"

    @property
    def answer(self) -> Path:
        """The answer; absent when there is none."""
        return self.folder / "answer" / "pbt_test.py"

    @property
    def outcomes(self) -> Path:
        """Outcomes, one a line after a header line."""
        return self.folder / "outcomes.jsonl"

    @property
    def verdicts(self) -> Path:
        """Verdicts, recomputed from the outcomes."""
        return self.folder / "verdicts.json"


@dataclass(frozen=True)
class RunPaths:
    """Paths of one run."""

    root: Path

    @property
    def run_json(self) -> Path:
        """Configuration and versions."""
        return self.root / "run.json"

    @property
    def journal(self) -> Path:
        """Events."""
        return self.root / "journal.jsonl"

    @property
    def summary(self) -> Path:
        """Metrics."""
        return self.root / "summary.json"

    @property
    def lock(self) -> Path:
        """Lock file; stays, what counts is who holds it."""
        return self.root / "lock"

    @property
    def trials(self) -> Path:
        """Folder of all trials."""
        return self.root / "trials"

    def trial(self, name: str) -> TrialPaths:
        """Paths of the trial with this name (`TrialKey.name`)."""
        return TrialPaths(self.trials / name)
