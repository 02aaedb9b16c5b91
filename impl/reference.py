"""Named tuples of arrays that compiled code takes by reference.

By value a call copies all parts of all arrays, some nine numbers each, which takes longer than
most of what is called.
"""

from typing import Any

import numba
from numba.core import cgutils
from numba.core.typing import templates

_NUMBA: Any = numba  # Its types know neither its types nor how it is extended.
_BUILT: Any = cgutils
_EXTENDING = _NUMBA.extending


class Reference(_NUMBA.types.Type):  # type: ignore[misc] # as above
    """The type of a reference to a named tuple; ``value``: the type of the tuple."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401 - as above
        """Take the type of the tuple."""
        self.value = value
        super().__init__(name=f"reference to {value}")


class _Fields(templates.AttributeTemplate):
    """Has Numba know the types of the fields."""

    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> object:  # type: ignore[override] # as above
        return dict(zip(reference.value.fields, reference.value.types, strict=True)).get(name)


def take_by_reference(of: type) -> None:
    """Have compiled code take values of a class of named tuples by reference."""
    by_value = _EXTENDING.typeof_impl.dispatch(tuple)
    _EXTENDING.typeof_impl.register(of)(lambda value, about: Reference(by_value(value, about)))


def _unbox(reference: Reference, value: Any, wrapper: Any) -> Any:  # noqa: ANN401 - as above
    """Have the value on the stack while the function that Python calls runs."""
    native = wrapper.unbox(reference.value, value)
    place = _BUILT.alloca_once_value(wrapper.builder, native.value)
    native.value = wrapper.builder.bitcast(place, _BUILT.voidptr_t)
    return native


def _load(context: Any, builder: Any, reference: Reference, pointer: Any, name: str) -> Any:  # noqa: ANN401 - as above
    """Load a field where compiled code reads it."""
    layout = context.get_value_type(reference.value).as_pointer()
    number = reference.value.fields.index(name)
    return builder.load(_BUILT.gep_inbounds(builder, builder.bitcast(pointer, layout), 0, number))


_EXTENDING.register_model(Reference)(_EXTENDING.models.OpaqueModel)
_EXTENDING.infer_getattr(_Fields)
_EXTENDING.unbox(Reference)(_unbox)
_EXTENDING.lower_getattr_generic(Reference)(_load)
