"""Images for the Docker sandbox: a base made fit, one image per library, one thin layer per problem.

Tags hold the hash of what went in; what exists is never built again. No build needs a network.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING

from pbtbench.errors import BuildError
from pbtbench.images.archive import write_tar
from pbtbench.images.base import BuiltImage
from pbtbench.images.builder import Builder, digest
from pbtbench.images.engine import OWNER, STAGE, Engine
from pbtbench.images.interpreter import PROBE, Interpreter
from pbtbench.images.offline import offline_base, offline_tag
from pbtbench.images.recipes import recipe, recipe_text
from pbtbench.sandbox.base import PYTHON

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pbtbench.images.download import OnStep
    from pbtbench.images.store import Store
    from pbtbench.problems.model import Library, Problem
    from pbtbench.sandbox.base import Archive

DEFAULT_BASE = "python:3.13-slim"
OFFLINE = "offline"

_ROOM = 200_000_000


class DockerImages(Builder):
    """Builds Docker images over ``base``: a tag, ``offline``, or None for what this machine can have.

    None takes the default base where it is present, else the offline one where that is, else tries to
    pull the first and, failing that, makes the second.
    """

    def __init__(self, store: Store, on_step: OnStep, base: str | None = None) -> None:
        super().__init__(store, on_step)
        self._wanted = base
        self._engine = Engine()

    @cached_property
    def interpreter(self) -> Interpreter:
        """The Python of the base image."""
        base = self.build_base()

        def probe(path: Path) -> None:
            output = self._engine.run(base, [PYTHON, "-I", "-S", "-c", PROBE])
            Interpreter.parse(output, base)
            path.write_text(output, encoding="utf-8")

        key = f"interpreters/{base.rpartition(':')[2]}-{digest(PROBE)[:12]}.json"
        return Interpreter.parse(self._store.file(key, probe).read_text(encoding="utf-8"), base)

    def build_library(self, library: Library) -> BuiltImage:
        """``pbtbench/<library>:<hash>``."""
        ingredients = self._ingredients(library)
        base = self.build_base()
        name = "library.Dockerfile"
        key = digest(base, self.interpreter.identity, ingredients.identity, recipe_text(name))
        tag = f"{OWNER}/{library.name.lower()}:{key[:12]}"

        def write_venv(path: Path) -> None:
            content = self._venv(ingredients)
            prefix = f"lib/python{self.interpreter.minor}/site-packages"
            files = {f"{prefix}/{name}": data for name, data in content.files.items()}
            scripts = {f"bin/{name}": data for name, data in content.scripts.items()}
            write_tar(path, {**files, **scripts}, executable=frozenset(scripts))

        if self._engine.image_id(tag) is not None:
            return BuiltImage(tag, key, self.interpreter.minor, built=False)
        with self._store.scratch(need=_ROOM) as folder:
            write_venv(folder / "venv.tar")
            built = self._build(tag, library.key, name, {"venv.tar": folder / "venv.tar"}, {"BASE": base})
        return BuiltImage(tag, key, self.interpreter.minor, built)

    def _problem_image(
        self, problem: Problem, library: BuiltImage, tree: Path, workspace: Path
    ) -> tuple[BuiltImage, tuple[Archive, ...]]:
        """``pbtbench/<id>:<hash>``: complete, nothing is left to be unpacked."""
        name = "problem.Dockerfile"
        key = digest(library.digest, tree.name, workspace.name, recipe_text(name))
        tag = f"{OWNER}/{problem.id.lower()}:{key[:12]}"
        arguments = {"BASE": library.reference, "SITE_PACKAGES": self.interpreter.site_packages}
        built = self._build(tag, problem.id, name, {"tree.tar": tree, "workspace.tar": workspace}, arguments)
        return BuiltImage(tag, key, library.python, built), ()

    def _base_files(self) -> Mapping[str, str]:
        base = self.build_base()

        def index(path: Path) -> None:
            self._on_step(f"look at the files of {base}")
            hashes = {hashlib.sha256(content).hexdigest(): name for name, content in self._engine.files(base)}
            path.write_text(json.dumps(hashes), encoding="utf-8")

        key = f"bases/{base.rpartition(':')[2]}-files.json"
        found: dict[str, str] = json.loads(self._store.file(key, index).read_bytes())
        return found

    def _run(self, script: str, folder: Path) -> None:
        self._engine.run(self.build_base(), [PYTHON, "-I", "-S", "-c", script, STAGE], folder)

    def build_base(self) -> str:
        """``pbtbench/base:<hash>``: the base image made fit for sandboxes."""
        return self._base

    @cached_property
    def _base(self) -> str:
        source = self._source()
        name = "base.Dockerfile"
        key = digest(self._engine.image_id(source), recipe_text(name))
        tag = f"{OWNER}/base:{key[:12]}"
        self._build(tag, f"base over {source}", name, {}, {"BASE": source})
        return tag

    def _build(
        self, tag: str, what: str, name: str, files: Mapping[str, Path], arguments: Mapping[str, str]
    ) -> bool:
        """Build ``tag`` from the recipe ``name``; False when it is there already."""
        if self._engine.image_id(tag) is not None:
            return False
        with self._store.lock(tag):
            if self._engine.image_id(tag) is not None:
                return False
            self._on_step(f"build the image of {what}")
            self._engine.build(tag, recipe(name), files, arguments, {f"{OWNER}.of": what})
        return True

    def _source(self) -> str:
        """The tag to start from, present on this machine."""
        if self._wanted == OFFLINE:
            return offline_base(self._engine, self._store, self._on_step)
        if self._wanted is not None:
            if self._engine.image_id(self._wanted) is None:
                self._on_step(f"pull {self._wanted}")
                if not self._engine.pull(self._wanted):
                    raise BuildError(
                        "this base image is neither here nor can it be pulled",
                        where=self._wanted,
                        hint="Check the name and the registry, or use --base offline",
                    )
            return self._wanted
        for tag in (DEFAULT_BASE, offline_tag()):
            if self._engine.image_id(tag) is not None:
                return tag
        self._on_step(f"pull {DEFAULT_BASE}")
        if self._engine.pull(DEFAULT_BASE):
            return DEFAULT_BASE
        return offline_base(self._engine, self._store, self._on_step)
