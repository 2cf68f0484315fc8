"""The memory tool that models of Anthropic's are trained on, over a safe folder: a class to answer its calls with.

from byheart.app.memory_folder import memory_folder
notes = memory_folder("/path/of/a/project")
text = notes.execute(tool_use.input)      # {"command": "view", "path": "/memories"} and the like
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from byheart.app.notes_folder import NotesFolder
from byheart.app.open import Surroundings, open_memory
from byheart.domain.errors import Unwanted
from byheart.domain.records import Scope
from byheart.domain.roots import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from byheart.workspace.context import Context


def memory_folder(folder: str, environment: Mapping[str, str] | None = None) -> NotesFolder:
    """The notes that agents keep of the project that holds this folder."""
    around = Surroundings(folder=folder, environment=os.environ if environment is None else environment)
    return of_context(open_memory(around).memory.context)


def of_context(context: Context) -> NotesFolder:
    """The notes of the project that a memory was opened for. Raises Unwanted while memory is switched off."""
    if not context.limits.enabled:
        raise Unwanted("memory is switched off in the configuration")
    own = context.roots[Scope.LOCAL].folder
    return NotesFolder(context.files, context.scanner, Place(own.base, f"{own.path}/memories"))
