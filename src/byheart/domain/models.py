"""Models that learning may ask: one for each of its two phases."""

from __future__ import annotations

from typing import Protocol

from byheart.domain.errors import ByheartError
from byheart.domain.values import dataclass


class NoAnswer(ByheartError):
    """The model gave no answer."""

    def __init__(self, message: str, *, for_this_alone: bool = False) -> None:
        # Whether only this question is to blame: the next one may well be answered.
        self.for_this_alone = for_this_alone
        super().__init__(message)


class ChatModel(Protocol):
    """A model that answers in words. `id` is another for another model."""

    id: str

    def answer(self, system: str, prompt: str) -> str:
        """What it says. Raises NoAnswer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of both phases, and how many characters a question may have."""

    extracting: ChatModel
    consolidating: ChatModel
    characters: int
