"""The format of tests/vectors: loading, expanding, matching. tests/vectors/README.md says what each part means."""

import base64
import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent.parent / "vectors"
TOLERANCE = 1e-4

_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OPERATORS = frozenset({"$any", "$absent", "$match", "$not", "$contains"})
_BODIES = ("request", "request_base64", "requests")
_OUTCOMES = ("response", "responses", "error")
_ERROR_KEYS = frozenset({"code", "reason", "fields", "metadata"})
CAPABILITIES = frozenset({"no_model", "dimension_512", "local_embedder"})
"""What a vector may require of a server."""

Variables = Mapping[str, Any]


class VectorError(Exception):
    """A file says something that the format does not know."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call and what must come of it."""

    rpc: str
    """As `memlane.v1.MemoryService/CreateMemory`."""
    expect: Mapping[str, Any]
    comment: str = ""
    request: Any = None
    request_base64: str | None = None
    requests: Any = None
    """An array, or a builder of one."""
    until: Any = None
    timeout_seconds: float = 10.0
    save: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Step":
        _known(raw, cls.__dataclass_fields__, "step")
        step = cls(**raw)
        if sum(key in raw for key in _BODIES) != 1:
            raise VectorError(f"one of {', '.join(_BODIES)} is needed: {raw}")
        if len(step.expect) != 1 or not set(step.expect) <= set(_OUTCOMES):
            raise VectorError(f"`expect` has one of {', '.join(_OUTCOMES)}: {raw}")
        if "error" in step.expect:
            _known(step.expect["error"], _ERROR_KEYS, "error")
        return step


@dataclass(frozen=True, slots=True)
class Vector:
    """One file."""

    name: str
    description: str
    steps: tuple[Step, ...]
    requires: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: Path) -> "Vector":
        """Raises VectorError."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        _known(raw, cls.__dataclass_fields__, path.name)
        _known(raw.get("requires", ()), CAPABILITIES, "`requires`")
        if raw["name"] != path.stem:
            raise VectorError(f"{path.name} calls itself {raw['name']}")
        steps = tuple(Step.of(step) for step in raw["steps"])
        return cls(raw["name"], raw["description"], steps, tuple(raw.get("requires", ())))


def paths() -> list[Path]:
    return sorted(VECTORS.glob("*.json"))


def expand(node: Any, variables: Variables) -> Any:
    """The node with variables and builders replaced; operators of expectations stay. Raises VectorError."""
    if isinstance(node, str):
        return _substituted(node, variables)
    if isinstance(node, list):
        return [expand(part, variables) for part in node]
    if not isinstance(node, dict):
        return node
    operator = operator_of(node)
    if operator is None:
        return {key: expand(part, variables) for key, part in node.items()}
    argument = node[operator]
    if operator in ("$not", "$contains"):
        return {operator: expand(argument, variables)}
    if operator in _OPERATORS:
        return node
    if operator == "$repeat":
        return _text(argument[0], variables) * argument[1]
    if operator == "$concat":
        return "".join(_text(part, variables) for part in argument)
    if operator == "$list":
        return [expand(argument[0], variables) for _ in range(argument[1])]
    if operator == "$floats":
        return [value for value, count in argument for _ in range(count)]
    if operator == "$f32":
        values = [float(value) for value, count in argument for _ in range(count)]
        return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
    raise VectorError(f"unknown builder or operator {operator}")


def differences(template: Any, value: Any, at: str = "") -> Iterator[str]:
    """Where a value is not what an expanded template asks for."""
    operator = operator_of(template) if isinstance(template, dict) else None
    if operator is not None:
        yield from _differences_by_operator(operator, template[operator], value, at)
    elif isinstance(template, dict):
        if not isinstance(value, dict):
            yield f"{at or '.'}: expected an object, got {_shown(value)}"
            return
        for key, wanted in template.items():
            yield from _entry_differences(wanted, value, key, f"{at}.{key}")
    elif isinstance(template, list):
        if not isinstance(value, list) or len(value) != len(template):
            yield f"{at or '.'}: expected an array of {len(template)}, got {_shown(value)}"
            return
        for i, (wanted, got) in enumerate(zip(template, value, strict=True)):
            yield from differences(wanted, got, f"{at}[{i}]")
    elif not _equal(template, value):
        yield f"{at or '.'}: expected {_shown(template)}, got {_shown(value)}"


def dig(value: Any, path: str) -> Any:
    """The value at a dotted path. Raises VectorError."""
    for part in path.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise VectorError(f"nothing to save at {path}: no {part} in {_shown(value)}") from None
    return value


def operator_of(node: Mapping[str, Any]) -> str | None:
    """The one key of a builder or operator."""
    key = next(iter(node)) if len(node) == 1 else ""
    return key if key.startswith("$") and not key.startswith("${") else None


def _differences_by_operator(operator: str, argument: Any, value: Any, at: str) -> Iterator[str]:
    if operator == "$match":
        if not isinstance(value, str) or re.search(argument, value) is None:
            yield f"{at}: expected a string with {argument!r}, got {_shown(value)}"
    elif operator == "$not":
        if next(differences(argument, value), None) is None:
            yield f"{at}: expected anything but {_shown(argument)}"
    elif operator == "$contains":
        if not isinstance(value, list):
            yield f"{at}: expected an array, got {_shown(value)}"
            return
        for wanted in argument:
            if all(next(differences(wanted, got), None) for got in value):
                yield f"{at}: no element matches {_shown(wanted)} in {_shown(value)}"
    elif operator != "$any":
        raise VectorError(f"{operator} at {at or 'the top'}: not for this place, or not expanded")


def _entry_differences(wanted: Any, value: Mapping[str, Any], key: str, at: str) -> Iterator[str]:
    if isinstance(wanted, dict) and operator_of(wanted) == "$absent":
        if key in value:
            yield f"{at}: expected nothing, got {_shown(value[key])}"
    elif key not in value:
        yield f"{at}: expected {_shown(wanted)}, got nothing"
    else:
        yield from differences(wanted, value[key], at)


def _equal(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and abs(wanted - value) <= TOLERANCE
    return type(wanted) is type(value) and bool(wanted == value)


def _substituted(text: str, variables: Variables) -> Any:
    whole = _REFERENCE.fullmatch(text)
    if whole is not None and whole[1] is not None:
        return _variable(whole[1], variables)

    def put_in(found: re.Match[str]) -> str:
        if found[1] is None:
            return "${"
        value = _variable(found[1], variables)
        if not isinstance(value, str):
            raise VectorError(f"{found[1]} is no string and cannot stand inside {text!r}")
        return value

    return _REFERENCE.sub(put_in, text)


def _variable(name: str, variables: Variables) -> Any:
    if name not in variables:
        raise VectorError(f"unknown variable {name}")
    return variables[name]


def _text(node: Any, variables: Variables) -> str:
    text = expand(node, variables)
    if not isinstance(text, str):
        raise VectorError(f"{_shown(node)} is no string")
    return text


def _known(keys: Any, known: Any, where: str) -> None:
    unknown = set(keys) - set(known)
    if unknown:
        raise VectorError(f"{where} knows no {', '.join(sorted(unknown))}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 4000 else f"{text[:4000]}... ({len(text)} characters)"
