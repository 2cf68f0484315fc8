"""Value classes as the standard library's dataclasses make them, for a command that lives for a tenth of a second.

The library's own writes and compiles half a dozen methods for every class, whether or not anybody calls them, and brings the
module `inspect` along: a third of the time that a short command takes. Here a class gets its constructor when its first
instance is made, and shares all other methods. To type checkers it is the library's.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import FrozenInstanceError as FrozenInstanceError
    from dataclasses import asdict as asdict
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
else:
    _MISSING = object()
    _FIELDS = "__value_fields__"
    _WORTH_IT = 8

    class FrozenInstanceError(AttributeError):
        """A value was to be changed."""

    class _Field:
        __slots__ = ("compare", "default", "default_factory", "kw_only", "name", "repr")

        def __init__(self, default, default_factory, *, repr, compare):
            self.name, self.kw_only = "", False
            self.default, self.default_factory = default, default_factory
            self.repr, self.compare = repr, compare

    def field(*, default=_MISSING, default_factory=_MISSING, repr=True, compare=True):
        """What is special about a field."""
        return _Field(default, default_factory, repr=repr, compare=compare)

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False):
        """A class whose annotations are its fields."""
        if cls is None:
            return lambda own: _made(own, frozen=frozen, slots=slots, kw_only=kw_only)
        return _made(cls, frozen=frozen, slots=slots, kw_only=kw_only)

    def _made(cls, *, frozen, slots, kw_only):
        own = {}
        # The library that reads annotations in a safer way is what is to be done without.
        for name, annotation in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063
            if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
                continue
            default = cls.__dict__.get(name, _MISSING)
            each = default if isinstance(default, _Field) else field(default=default)
            each.name, each.kw_only = name, kw_only
            own[name] = each
        every = {}
        for base in reversed(cls.__mro__[1:]):
            every |= base.__dict__.get(_FIELDS, {})
        inherited = set(every)
        every |= own
        shared = {_FIELDS: every, "__match_args__": tuple(n for n, f in every.items() if not f.kw_only)}
        shared |= _methods(every, frozen=frozen, slots=slots)
        namespace = dict(cls.__dict__)
        if slots:
            for name in (*own, "__dict__", "__weakref__"):
                namespace.pop(name, None)
            namespace["__slots__"] = tuple(name for name in own if name not in inherited)
            name = cls.__qualname__
            cls = type(cls)(cls.__name__, cls.__bases__, {**shared, **namespace, **_always(shared)})
            cls.__qualname__ = name
        else:
            for name, each in own.items():
                if each.default is not _MISSING:
                    setattr(cls, name, each.default)
                elif name in namespace:
                    delattr(cls, name)
            for name, method in shared.items():
                if name not in namespace or name in _always(shared):
                    setattr(cls, name, method)
        _give_init(cls, every, frozen=frozen)
        return cls

    def _always(shared):
        """What a class has of its own even where one above it has the same."""
        return {name: shared[name] for name in (_FIELDS, "__match_args__")}

    def _key(names):
        """What two values are compared by; one name makes a bare value, and none makes nothing."""
        return attrgetter(*names) if names else lambda _: ()

    def _methods(every, *, frozen, slots):
        key = _key([name for name, each in every.items() if each.compare])

        def __eq__(self, other):
            return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

        def __repr__(self):
            shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, each in every.items() if each.repr)
            return f"{self.__class__.__qualname__}({shown})"

        methods = {"__eq__": __eq__, "__repr__": __repr__, "__hash__": None}
        if frozen:

            def __hash__(self):
                return hash(key(self))

            def __setattr__(self, name, value):
                raise FrozenInstanceError(f"cannot assign to field {name!r}")

            def __delattr__(self, name):
                raise FrozenInstanceError(f"cannot delete field {name!r}")

            methods |= {"__hash__": __hash__, "__setattr__": __setattr__, "__delattr__": __delattr__}
        if frozen and slots:

            def __getstate__(self):
                return [getattr(self, name) for name in every]

            def __setstate__(self, state):
                for name, value in zip(every, state, strict=True):
                    object.__setattr__(self, name, value)

            methods |= {"__getstate__": __getstate__, "__setstate__": __setstate__}
        return methods

    def _give_init(cls, every, *, frozen):
        if "__init__" in cls.__dict__:
            return
        is_finished = hasattr(cls, "__post_init__")
        made = 0

        def __init__(self, *args, **kwargs):
            # Most classes of a short command have an instance or two, for which writing a constructor does not pay.
            nonlocal made
            made += 1
            if made > _WORTH_IT or len(args) > len(cls.__match_args__):
                cls.__init__ = _written_init(cls, every, frozen=frozen)
                return cls.__init__(self, *args, **kwargs)
            given = dict(zip(cls.__match_args__, args, strict=False))
            if not given.keys().isdisjoint(kwargs):
                raise TypeError(f"{cls.__qualname__}() got a field twice")
            given |= kwargs
            for name, each in every.items():
                if name in given:
                    value = given.pop(name)
                elif each.default_factory is not _MISSING:
                    value = each.default_factory()
                elif each.default is not _MISSING:
                    value = each.default
                else:
                    raise TypeError(f"{cls.__qualname__}() needs {name!r}")
                object.__setattr__(self, name, value)
            if given:
                raise TypeError(f"{cls.__qualname__}() has no field {next(iter(given))!r}")
            return self.__post_init__() if is_finished else None

        cls.__init__ = __init__

    def _written_init(cls, every, *, frozen):
        """The constructor as a person would write it: that is the fastest there is."""
        names = {"_missing": _MISSING, "_set": object.__setattr__}
        plain, keyed, lines = [], [], []
        for name, each in every.items():
            given = name
            if each.default_factory is not _MISSING:
                names[f"_make_{name}"] = each.default_factory
                given = f"{name}=_missing"
                lines.append(f" if {name} is _missing: {name} = _make_{name}()")
            elif each.default is not _MISSING:
                names[f"_default_{name}"] = each.default
                given = f"{name}=_default_{name}"
            (keyed if each.kw_only else plain).append(given)
            lines.append(f" _set(self, {name!r}, {name})" if frozen else f" self.{name} = {name}")
        if hasattr(cls, "__post_init__"):
            lines.append(" self.__post_init__()")
        given = ", ".join(["self", *plain, *(["*", *keyed] if keyed else [])])
        source = f"def __init__({given}):\n" + ("\n".join(lines) or " pass")
        exec(compile(source, f"<{cls.__qualname__}>", "exec"), names)  # noqa: S102 - names of fields in our own classes
        made = names["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        return made

    def fields(value):
        """A class's or an instance's fields in order."""
        return tuple(getattr(value, _FIELDS).values())

    def is_dataclass(value):
        """Whether it is a value class or one of its instances."""
        return hasattr(value if isinstance(value, type) else type(value), _FIELDS)

    def replace(value, /, **changes):
        """The same value with some fields changed."""
        for name in getattr(value, _FIELDS):
            if name not in changes:
                changes[name] = getattr(value, name)
        return value.__class__(**changes)

    def asdict(value):
        """A value as a dict, with the values in it as dicts too."""
        return {name: _plain(getattr(value, name)) for name in getattr(value, _FIELDS)}

    def _plain(value):
        if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        if isinstance(value, list | tuple):
            return type(value)(_plain(each) for each in value)
        if isinstance(value, dict):
            return {_plain(name): _plain(each) for name, each in value.items()}
        return value
