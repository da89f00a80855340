"""YAML files whose errors name ``file:line``.

Scalars are read as they are written: only ``true``/``false``, ``null`` and plain decimal integers are
converted, so that an unquoted version ``2.10`` stays "2.10" and a date stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ValidationError

from pbtbench.errors import ProblemError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    _Base = yaml.SafeLoader
else:
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Location = tuple[int | str, ...]
"""Keys and indexes from the top of the document to a value."""


class _Loader(_Base):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - yaml's own


for _tag, _pattern, _first in (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)", "tTfF"),
    ("null", r"(?:~|null|Null|NULL|)", ["~", "n", "N", ""]),
    ("int", r"(?:0|-?[1-9][0-9]*)", "-0123456789"),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^{_pattern}$"), list(_first))


class Document:
    """One YAML mapping: its ``data``, and the line of each value in it."""

    def __init__(self, path: Path) -> None:
        """Read ``path``. Raises ProblemError when it is not there, not YAML or not a mapping."""
        self.path = path
        try:
            self.text = path.read_text("utf-8-sig")
        except OSError as error:
            raise ProblemError(error.strerror or str(error), where=shown(path)) from None
        except UnicodeDecodeError as error:
            raise ProblemError(f"not UTF-8: byte {error.start} is wrong", where=shown(path)) from None
        loader = _Loader(self.text)
        try:
            node = loader.get_single_node()
            if not isinstance(node, yaml.MappingNode):
                raise ProblemError("expected a mapping (key: value)", where=f"{shown(path)}:1")
            self._node = node
            for key in _repeated_keys(self._node):
                raise ProblemError(
                    f"the key {key.value!r} is there twice",
                    where=f"{shown(path)}:{key.start_mark.line + 1}",
                )
            self.data: dict[str, Any] = loader.construct_document(self._node)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise ProblemError(
                f"not valid YAML: {error.problem or error.context}", where=f"{shown(path)}:{line}"
            ) from None
        except yaml.YAMLError as error:
            reason = getattr(error, "reason", None) or str(error)
            raise ProblemError(f"not valid YAML: {reason}", where=shown(path)) from None
        finally:
            loader.dispose()

    def line(self, location: Location = ()) -> int:
        """Line of a value, or of the nearest thing around it that is there."""
        node: yaml.Node = self._node
        line = node.start_mark.line
        for step in location:
            if isinstance(node, yaml.MappingNode):
                for key, value in node.value:
                    if key.value == step:
                        node, line = value, key.start_mark.line
                        break
                else:
                    break
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                if step >= len(node.value):
                    break
                node = node.value[step]
                line = node.start_mark.line
            else:
                break
        return line + 1

    def error(self, message: str, *location: int | str, hint: str | None = None) -> ProblemError:
        """A ProblemError at ``location``."""
        return ProblemError(message, where=f"{shown(self.path)}:{self.line(location)}", hint=hint)

    def build[M: BaseModel](self, model: type[M], data: Mapping[str, Any]) -> M:
        """``model`` from ``data``, which has this document's shape; raises ProblemError."""
        try:
            return model.model_validate(data)
        except ValidationError as error:
            details = sorted(error.errors(), key=lambda detail: self.line(detail["loc"]))
            more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
            raise self.error(_explain(details[0]) + more, *details[0]["loc"]) from None


def shown(path: Path) -> str:
    """``path`` as errors print it: relative to the current folder when below it."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _repeated_keys(node: yaml.Node, seen: set[int] | None = None) -> Iterator[yaml.Node]:
    seen = set() if seen is None else seen
    if id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    yield key
                keys.add(key.value)
            yield from _repeated_keys(value, seen)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _repeated_keys(value, seen)


def name_of(location: Location) -> str:
    """``bugs[0].tags[1]``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).lstrip(".")


def _explain(detail: ErrorDetails) -> str:
    """One pydantic error as half a sentence that says what is allowed."""
    name, value, context = name_of(detail["loc"]), detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "missing":
            return f"{name} is missing"
        case "literal_error":
            return (
                f"{name} is {value!r}; allowed: {context['expected'].replace("'", '').replace(' or ', ', ')}"
            )
        case "string_type":
            return f"{name} must be text, not {_kind(value)}"
        case "tuple_type" | "list_type":
            return f"{name} must be a list, not {_kind(value)}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{name} must be a mapping (key: value), not {_kind(value)}"
        case "string_pattern_mismatch" if context["pattern"] == r"^[0-9a-f]{64}$":
            return f"{name} must be a sha256 (64 hexadecimal digits), not {value!r}"
    return f"{name}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _kind(value: object) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return "true or false (put it in quotes)"
        case str():
            return f"text ({value!r})"
        case int():
            return f"a number ({value})"
        case list():
            return "a list"
        case _:
            return "a mapping"
