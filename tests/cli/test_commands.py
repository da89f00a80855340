"""The smaller commands."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pbtbench.errors import SandboxUnavailableError
from pbtbench.sandbox.base import Check


class TestProblems:
    def test_list_has_one_line_a_problem(self, world):
        result = world("problems", "list", "--problems-dir", world.problems)
        assert [line.split()[0] for line in result.out.splitlines() if "DEMO" in line] == [
            "DEMO-001",
            "DEMO-002",
        ]

    def test_list_as_json(self, world):
        result = world("problems", "list", "--problems-dir", world.problems, "-p", "*2", "--json")
        assert result.json["problems"] == [
            {
                "id": "DEMO-002",
                "library": "demo",
                "version": "1.0",
                "domain": "",
                "title": "",
                "bugs": {"bug_1": "L1", "bug_2": "L2"},
            }
        ]

    def test_show_tells_the_bugs(self, world):
        result = world("problems", "show", "DEMO-001", "--problems-dir", world.problems)
        assert "bug_2 (L2): something is wrong" in result.out

    def test_show_of_an_unknown_problem_is_exit_code_2(self, world):
        result = world("problems", "show", "DEMO-009", "--problems-dir", world.problems)
        assert result.code == 2
        assert "DEMO-009" in result.err


class TestBuildImages:
    def test_it_prepares_every_selected_problem(self, world):
        result = world("build-images", "--problems-dir", world.problems, "-q")
        assert world.builder.prepared == ["DEMO-001", "DEMO-002"]
        assert result.out.splitlines()[0].split() == ["DEMO-001", "demo-1.0", "image", "built"]

    def test_json(self, world):
        result = world("build-images", "--problems-dir", world.problems, "-p", "DEMO-001", "--json")
        assert result.json["images"][0]["digest"] == "digest-DEMO-001"

    def test_a_library_without_problems_is_refused(self, world):
        result = world("build-images", "nolib", "--problems-dir", world.problems)
        assert result.code == 2
        assert "no selected problem is about 'nolib'. There are demo" in result.err


class TestDoctor:
    @pytest.fixture
    def checks(self, monkeypatch):
        found = {"Docker": [Check("engine", True, "20.10")], "Local": [Check("namespaces", True, "fine")]}
        monkeypatch.setattr("pbtbench.cli.doctor.DockerBackend.check", lambda _: found["Docker"])
        monkeypatch.setattr("pbtbench.cli.doctor.LocalBackend.check", lambda _: found["Local"])
        return found

    def test_every_gap_comes_with_what_to_do(self, world, checks):
        checks["Docker"] = [Check("engine", False, "does not answer", "Start it")]
        result = world("doctor")
        assert result.code == 0
        assert "missing sandbox docker: engine: does not answer\n        -> Start it\n" in result.out
        assert result.out.endswith("Sandboxes that work here: local\n")

    def test_without_any_sandbox_it_is_exit_code_3(self, world, checks):
        checks["Docker"] = checks["Local"] = [Check("x", False, "no")]
        result = world("doctor", "--json")
        assert (result.code, result.json["usable"]) == (3, [])

    def test_keys_are_named_and_never_shown(self, world, checks, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-value")
        result = world("doctor")
        assert "OPENAI_API_KEY" in result.out
        assert "secret" not in result.out


class TestClean:
    @pytest.fixture(autouse=True)
    def machine(self, monkeypatch, tmp_path):
        self.cache = tmp_path / "cache"
        monkeypatch.setenv("PBTBENCH_CACHE", str(self.cache))
        for name in ("files/wheel.whl", "images/demo/venv", "trees/abc.tar", "locks/x.lock"):
            path = self.cache / name
            path.parent.mkdir(parents=True)
            path.write_text("")
        self.swept: list[bool] = []

        def sweep(_self: object, label: str | None = None, *, dry_run: bool = False) -> list[str]:
            self.swept.append(dry_run)
            return ["sandbox of a dead run"]

        def gone(*_: object, **__: object) -> list[str]:
            raise SandboxUnavailableError("Docker does not answer")

        monkeypatch.setattr("pbtbench.cli.clean.LocalBackend.sweep", sweep)
        monkeypatch.setattr("pbtbench.cli.clean.DockerBackend.sweep", gone)
        monkeypatch.setattr("pbtbench.cli.clean.clean_docker", gone)

    def left(self) -> set[str]:
        return {path.name for path in self.cache.iterdir()}

    def test_it_sweeps_sandboxes_and_keeps_images(self, world):
        result = world("clean")
        assert (result.code, self.swept) == (0, [False])
        assert "removed sandbox of a dead run" in result.out
        assert "docker is left out: Docker does not answer" in result.err
        assert self.left() == {"files", "images", "trees", "locks"}

    def test_images_are_removed_and_downloads_kept(self, world):
        world("clean", "--images")
        assert self.left() == {"files", "locks"}

    def test_the_cache_is_removed_whole(self, world):
        world("clean", "--cache")
        assert self.left() == {"locks"}

    def test_dry_run_removes_nothing_and_names_all(self, world):
        result = world("clean", "--cache", "--dry-run")
        assert self.swept == [True]
        assert self.left() == {"files", "images", "trees", "locks"}
        assert f"would remove {self.cache / 'files'}" in result.out

    def test_abandoned_temporary_entries_go_and_fresh_ones_stay(self, world):
        import os

        for name, age in (("old", 2 * 24 * 3600), ("new", 0)):
            path = self.cache / "images" / f".tmp-{name}"
            path.mkdir()
            stamp = path.stat().st_mtime - age
            os.utime(path, (stamp, stamp))
        world("clean")
        assert sorted(p.name for p in (self.cache / "images").iterdir()) == [".tmp-new", "demo"]

    def test_a_cache_in_use_is_left_alone(self, world):
        hold = (
            "import sys; from pbtbench.images.store import Store as S; S().hold(); print(flush=True); input()"
        )
        other = subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        other.stdout.readline()
        result = world("clean", "--cache")
        other.communicate(b"\n")
        assert (result.code, self.left()) == (3, {"files", "images", "trees", "locks"})
        assert "another pbtbench process uses the cache" in result.err
