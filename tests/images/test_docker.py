"""Docker images: complete, without network, built once; and the same content as the local ones."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pbtbench.errors import BuildError
from pbtbench.images import builder
from pbtbench.images.base import PreparedProblem
from pbtbench.images.docker import DockerImages
from pbtbench.images.engine import Engine
from pbtbench.images.store import Store
from pbtbench.problems.model import Bug
from pbtbench.problems.tree import BUGGY, CLEAN
from pbtbench.sandbox.base import Limits
from pbtbench.sandbox.docker import DockerBackend
from tests.conftest import TEST_IMAGE
from tests.images import toy

pytestmark = pytest.mark.docker


class World:
    """A cache with a toolchain of its own, so that its image tags are nobody else's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder / "cache")
        self.steps: list[str] = []
        tool = toy.wheel_bytes({"tool.py": f"TOOL = {uuid.uuid4().hex!r}\n".encode()}, name="tool")
        pin = toy.pinned("tool-1.0-py3-none-any.whl", tool)
        self.toolchain = (f"tool==1.0 --hash=sha256:{pin.sha256}",)
        toy.stock(self.store, (pin, tool))
        self.library = toy.stocked(self.store, toy.library())

        self.tags: set[str] = set()

    def images(self, base: str = TEST_IMAGE) -> DockerImages:
        return DockerImages(self.store, self.steps.append, base)

    def prepare(self, *bugs: Bug) -> PreparedProblem:
        prepared = self.images().prepare(toy.problem(self.folder, self.library, *bugs))
        self.tags |= {prepared.library_image.reference, prepared.problem_image.reference}
        return prepared


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("docker"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "toolchain", lambda: world.toolchain)
        yield world
    client = Engine().client
    for tag in sorted(world.tags, reverse=True):
        client.images.remove(tag, force=True)
    client.close()


def shell(world: World, script: str, tree: str | None = None) -> str:
    """Output of a command in the agent's sandbox, or in a judge's with ``tree``."""
    prepared = world.prepare()
    limits = Limits()
    spec = (
        prepared.agent_spec(label="image-tests", limits=limits)
        if tree is None
        else prepared.judge_spec(tree, label="image-tests", limits=limits)
    )
    sandbox = DockerBackend().start(spec)
    try:
        result = sandbox.run(["sh", "-c", script], timeout=60)
    finally:
        sandbox.close()
    assert result.exit_code == 0, result.stderr
    return result.stdout.decode()


def test_an_agent_finds_library_documentation_and_tests(world: World) -> None:
    seen = shell(world, "ls docs existing_tests/tests lib; cat lib/toylib/core.py; stat -c %u docs/index.rst")
    assert {"index.rst", "test_toy.py", "toylib", "1000"} <= set(seen.split())
    assert "value >= best" in seen


@pytest.mark.parametrize(("tree", "line"), [(BUGGY, "value >= best"), (CLEAN, "value > best")])
def test_a_judge_runs_exactly_one_tree_from_site_packages(world: World, tree: str, line: str) -> None:
    script = "import inspect, toylib.core as c; print(c.__file__, c.__cached__); print(inspect.getsource(c))"
    seen = shell(world, f'python -c "{script}"', tree)
    assert line in seen
    assert "/opt/venv/lib/python3." in seen


def test_bytecode_is_that_of_the_interpreter_inside(world: World) -> None:
    script = (
        "import importlib.util as u, toylib.core as c; data = open(c.__cached__, 'rb').read();"
        "print(data[:4] == u.MAGIC_NUMBER, data[4:8])"
    )
    assert shell(world, f'python -c "{script}"').strip() == r"True b'\x01\x00\x00\x00'"


def test_packages_of_the_base_are_gone(world: World) -> None:
    places = "/usr/lib/python3*/dist-packages /usr/local/lib/python3*/site-packages /usr/share/python-wheels"
    assert shell(world, f"ls -A {places} 2>/dev/null | grep -v : | grep . ; echo .") == ".\n"


def test_the_second_time_nothing_is_built_or_told(world: World) -> None:
    world.prepare()
    world.steps.clear()
    again = world.prepare()
    assert world.steps == []
    assert not again.problem_image.built


def test_a_changed_patch_builds_only_the_layer_of_its_problem(world: World) -> None:
    first = world.prepare()
    world.steps.clear()
    bug = toy.patch("toylib/core.py", "one + two", "one - two")
    second = world.prepare(bug)
    assert second.library_image == first.library_image
    assert second.problem_image.built
    assert [step for step in world.steps if "build" in step] == ["build the image of TOYS-001"]


def test_a_base_without_a_fit_python_is_one_clear_error(world: World, tmp_path: Path) -> None:
    engine = Engine()
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /x\n")
    tag = f"pbtbench/test-empty:{os.getpid()}"
    engine.build(tag, tmp_path / "Dockerfile", {}, {}, {})
    try:
        with pytest.raises(BuildError) as caught:
            world.images(tag).build_base()
    finally:
        engine.client.images.remove(tag, force=True)
    assert "\n" not in str(caught.value)
    assert "the build failed" in str(caught.value)


def test_a_base_that_is_nowhere_is_one_clear_error(world: World) -> None:
    with pytest.raises(BuildError, match="neither here nor can it be pulled"):
        world.images("pbtbench/no-such-base:1").build_base()
