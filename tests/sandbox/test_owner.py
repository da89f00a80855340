"""A sandbox's owner counts as dead only if it certainly is."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from pbtbench.sandbox import owner
from pbtbench.sandbox.registry import Registry


def ended_process() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_this_process_is_alive() -> None:
    assert not owner.is_dead(owner.identify())


def test_a_process_that_ended_is_dead() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        identity = owner.identify(process.pid)
        assert not owner.is_dead(identity)
        process.kill()
    assert owner.is_dead(identity)


def test_another_process_with_the_same_number_is_not_the_owner() -> None:
    place, pid, started = owner.identify().rsplit(":", 2)
    assert owner.is_dead(f"{place}:{pid}:{int(started) - 1}")


def test_a_zombie_is_dead() -> None:
    process = subprocess.Popen(["sleep", "60"])
    identity = owner.identify(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert owner.is_dead(identity)
    process.wait()


@pytest.mark.parametrize("identity", ["elsewhere/1:1:1", "", "nonsense", "a:b:c"])
def test_an_owner_on_another_machine_or_in_no_known_form_is_left_alone(identity: str) -> None:
    assert not owner.is_dead(identity)


def test_a_process_that_never_was_has_no_identity() -> None:
    with pytest.raises(ProcessLookupError):
        owner.identify(ended_process())


def test_a_sweep_kills_only_what_is_recorded_and_ownerless(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    with subprocess.Popen(["sleep", "60"]) as kept, subprocess.Popen(["sleep", "60"]) as left:
        registry.record(kept.pid, "one")
        path = registry.record(left.pid, "one")
        note = json.loads(path.read_text())
        place = note["owner"].rsplit(":", 2)[0]
        path.write_text(json.dumps({**note, "owner": f"{place}:{ended_process()}:1"}))
        assert registry.sweep("another") == []
        assert registry.sweep("one", dry_run=True) == [f"sandbox {left.pid} of one"]
        assert left.poll() is None
        assert registry.sweep("one") == [f"sandbox {left.pid} of one"]
        assert left.wait(10) == -9
        assert kept.poll() is None
        kept.kill()


def test_a_recycled_process_number_is_not_killed(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    with subprocess.Popen(["sleep", "60"]) as innocent:
        path = registry.record(innocent.pid, "one")
        note = json.loads(path.read_text())
        place, pid, started = note["process"].rsplit(":", 2)
        older = f"{place}:{pid}:{int(started) - 1}"
        path.write_text(json.dumps({**note, "process": older, "owner": f"{place}:{ended_process()}:1"}))
        assert registry.sweep(None) == []
        assert innocent.poll() is None
        assert not path.exists()
        innocent.kill()


def test_a_folder_that_is_not_there_and_files_that_are_not_ours_do_no_harm(tmp_path: Path) -> None:
    assert Registry(tmp_path / "none").sweep(None) == []
    (tmp_path / "5.json").write_text("{}")
    (tmp_path / "6.json").write_text("[")
    assert Registry(tmp_path).sweep(None) == []
