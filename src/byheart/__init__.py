"""byheart: persistent memory for coding agents. `MemoryStore(folder)` is a project's journal as programs use it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byheart.app.journal import MemoryStore

__version__ = "0.1.0"
__all__ = ["MemoryStore", "__version__"]


def __getattr__(name: str) -> object:
    # A command that needs no journal does not wait for it.
    if name == "MemoryStore":
        from byheart.app.journal import MemoryStore

        return MemoryStore
    raise AttributeError(name)
