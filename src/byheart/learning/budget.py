"""What models may cost: requests, tokens, time and money, of a run and of a day."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from byheart.domain.errors import ByheartError
from byheart.domain.learning import Spent
from byheart.domain.values import asdict, dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from byheart.domain.documents import Place
    from byheart.domain.learning import LearningSettings
    from byheart.domain.ports import Files

_MILLION = 1_000_000


@dataclass(slots=True, kw_only=True)
class Budget:
    """Counts what models cost in this run and, in a file, today. A limit of 0 is none."""

    settings: LearningSettings
    files: Files
    place: Place
    clock: Callable[[], datetime]
    run: Spent = field(default_factory=Spent)
    began: float = field(default_factory=time.monotonic)

    def reached(self) -> str:
        """Which limit is reached, in words; empty where there is room."""
        settings, day = self.settings, self._today()
        limits = (
            ("model_run_requests", self.run.requests, settings.model_run_requests),
            ("model_run_tokens", self.run.input_tokens + self.run.output_tokens, settings.model_run_tokens),
            ("model_run_seconds", time.monotonic() - self.began, settings.model_run_seconds),
            ("model_day_requests", day.requests, settings.model_day_requests),
            ("model_day_tokens", day.input_tokens + day.output_tokens, settings.model_day_tokens),
            ("model_day_cost", day.cost, settings.model_day_cost),
        )
        for name, used, most in limits:
            if most and used >= most:
                return f"learning.{name} ({most:g}) is reached"
        return ""

    def note(self, spent: Spent) -> None:
        """Count what a model used since it was last told of."""
        price = self.settings.model_price_input, self.settings.model_price_output
        cost = spent.cost or (spent.input_tokens * price[0] + spent.output_tokens * price[1]) / _MILLION
        self.run.add(spent.input_tokens, spent.output_tokens, cost)
        self.run.requests += spent.requests - 1
        day = self._today()
        day.add(spent.input_tokens, spent.output_tokens, cost)
        day.requests += spent.requests - 1
        told = json.dumps({"day": self._date(), **asdict(day), "cost": round(day.cost, 6)})
        try:
            self.files.write(self.place, told + "\n", self.files.read(self.place).digest)
        except ByheartError:
            # Somebody else counted at this moment; the run's own limits hold all the same.
            return

    def _date(self) -> str:
        return f"{self.clock():%Y-%m-%d}"

    def _today(self) -> Spent:
        try:
            told = json.loads(self.files.read(self.place).text or "{}")
            if told.pop("day", "") == self._date():
                return Spent(**told)
        except (ByheartError, ValueError, TypeError, AttributeError):
            pass
        return Spent()
