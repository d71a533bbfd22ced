"""From a `CompiledLaw` to the functions that Numba compiles. Only this module imports Numba."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from inspect import isfunction
from typing import Any, ClassVar, get_origin, get_type_hints

import numba
import numpy as np
from numba.extending import overload

from forebay import _core
from forebay.errors import InputError

from .compiled import Compiled, CompiledLaw, draw

_INTEGERS = ("now", "packet", "flow", "length", "ecn", "traffic_class", "input_port", "queue_packets", "queue_bytes")
"""The arguments of a compiled function, in this order."""

_RATE = "link_rate_bps"
"""The one field that a law has without an annotation."""

_FAILED = -(2**63)
"""The value that it returns where the law has raised an exception."""


def compiled_form(law: type[CompiledLaw], name: str, methods: Mapping[str, tuple[str, ...]]) -> Compiled:
    """Compile these methods of a law, which ask for these arguments; once per class.

    Raises InputError if Numba refuses a method.
    """
    known = vars(law).get("_compiled")
    if isinstance(known, Compiled):
        return known
    fields = _fields_of(law, name)
    functions = {
        method: _compile(getattr(law, method), f"{name}.{method}", arguments, fields)
        for method, arguments in methods.items()
        if method != "state_bytes"
    }
    law._compiled = Compiled(fields, functions)  # type: ignore[attr-defined]
    return law._compiled  # type: ignore[attr-defined, no-any-return]


def _fields_of(law: type[CompiledLaw], name: str) -> list[tuple[str, bool]]:
    try:
        hints = get_type_hints(law)
    except Exception as error:
        # An annotation in quotes is any text.
        message = f"{name}: its annotations cannot be read: {type(error).__name__}: {error}"
        raise InputError(f"{message}\nhint: annotate the fields as int, float or bool") from error
    fields = []
    for field, kind in hints.items():
        if get_origin(kind) is ClassVar or kind is ClassVar:
            continue
        _check_not_ours(law, name, field)
        if kind not in (int, float, bool):
            message = f"{name}: the field `{field}` of a compiled law must be an int, a float or a bool"
            raise InputError(f"{message}\nhint: annotate others as ClassVar, or not at all")
        fields.append((field, kind is float))
    methods = [vars(part).get(method) for part in law.__mro__ for method in ("admit", "release", "idle")]
    if _RATE not in hints and any(_RATE in method.__code__.co_names for method in methods if isfunction(method)):
        fields.append((_RATE, False))
    # A record without fields has no address.
    return fields or [("_none", False)]


def _check_not_ours(law: type[CompiledLaw], name: str, field: str) -> None:
    """Raise InputError for a field that hides what the run sets, or that has more bits than a field."""
    if field == "salt":
        message = f"{name}: a compiled law has no `salt`, because its 64 bits do not fit into a field"
        raise InputError(f"{message}\nhint: choose another name, or `compiled = False`")
    if field == _RATE and any(field in vars(part) for part in law.__mro__ if issubclass(part, CompiledLaw)):
        message = f"{name}: the value of the field `{field}` would hide the rate of the link"
        raise InputError(f"{message}\nhint: leave the field out, or give it another name")


def _compile(method: Any, name: str, arguments: tuple[str, ...], fields: list[tuple[str, bool]]) -> Any:
    # Much of it has no types.
    untyped: Any = numba
    types = untyped.types
    record = numba.from_dtype(np.dtype([(field, "f8" if is_float else "i8") for field, is_float in fields]))
    signature = types.int64(types.CPointer(record), *[types.int64] * len(_INTEGERS))
    decides = name.endswith(".admit")
    names = {"law": numba.njit(method), "carray": untyped.carray, "int64": types.int64, "FAILED": np.int64(_FAILED)}
    call = f"law({', '.join(('carray(state, 1)[0]', *arguments))})"
    source = (
        f"def entry(state, {', '.join(_INTEGERS)}):\n"
        f"    verdict = FAILED\n"
        f"    try:\n"
        f"        {'verdict = int64(' + call + ')' if decides else call + '; verdict = int64(1)'}\n"
        f"    except Exception:\n"
        f"        verdict = FAILED\n"
        f"    return verdict\n"
    )
    exec(source, names)  # noqa: S102 - the text is made here, of names from fixed lists
    try:
        return numba.cfunc(signature)(names["entry"])
    except KeyError as error:
        # Numba looks up an attribute of the state.
        field = error.args[0] if error.args else "?"
        message = f"{name}: the law has no field `{field}`"
        message += "\nhint: annotate it in the class as an int, a float or a bool"
        raise InputError(message) from error
    except Exception as error:
        # Most are Numba's own, but it also lets others through.
        reason = str(error).strip().splitlines() or [type(error).__name__]
        message = f"{name}: Numba cannot compile it: {' '.join(reason[:4])}"
        message += "\nhint: `compiled = False` in the class runs it in the interpreter"
        raise InputError(message) from error


_native: Any = ctypes.CFUNCTYPE(ctypes.c_double)(_core.draw_address())


@overload(draw)
def _draw(law: Any) -> Any:  # noqa: ARG001 - Numba goes by the name of the argument
    """Let `draw` in compiled code call the core's function, which knows the law that is running."""

    def implementation(law: Any) -> Any:  # noqa: ARG001
        return _native()

    return implementation
