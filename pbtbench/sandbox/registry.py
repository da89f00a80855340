"""A folder of notes on running local sandboxes, by which the leftovers of dead owners are found.

A sandbox ends when the process that started it ends, so a leftover is rare: its owner must have died
while another process held a copy of its descriptors.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import platformdirs

from pbtbench.sandbox import owner


class Registry:
    """One JSON file for each running sandbox, named after its process 1."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(platformdirs.user_state_dir("pbtbench")) / "sandboxes"

    def record(self, pid: int, label: str) -> Path:
        """Note a sandbox that this process has started; the file to delete at its end."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{pid}.json"
        note = {"process": owner.identify(pid), "owner": owner.identify(), "label": label}
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps(note))
        temporary.replace(path)
        return path

    def sweep(self, label: str | None, *, dry_run: bool = False) -> list[str]:
        """Kill the sandboxes (with ``label``) whose owner is dead, drop their notes; their names."""
        killed = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                note = json.loads(path.read_text())
                process, owned_by, its_label = note["process"], note["owner"], note["label"]
            except (OSError, ValueError, KeyError, TypeError):
                continue  # deleted meanwhile, or not ours
            if (label is not None and label != its_label) or not owner.is_dead(owned_by):
                continue
            if not owner.is_dead(process):
                try:
                    os.kill(int(process.split(":")[1]), 0 if dry_run else signal.SIGKILL)
                except ProcessLookupError:
                    pass
                else:
                    killed.append(f"sandbox {path.stem} of {its_label}")
            if not dry_run:
                path.unlink(missing_ok=True)
        return killed
