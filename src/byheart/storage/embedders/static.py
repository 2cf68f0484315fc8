"""Static vectors: a table with a vector for each word, averaged. Weaker than a model that reads sentences, and a thousand times
as fast."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from byheart.domain.recall import NoModel
from byheart.storage.embedders.weights import floats

_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 400_000


class StaticEmbedder:
    """A folder with `vectors.txt`: a word and its numbers on each line, as word2vec and GloVe write them."""

    scale = (0.4, 0.75)

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "vectors.txt") if os.path.isdir(folder) else folder
        words: dict[str, int] = {}
        rows: list[NDArray[np.float32]] = []
        digest = hashlib.sha256()
        try:
            with open(path, "rb") as stream:
                for raw in stream:
                    digest.update(raw)
                    word, *numbers = raw.decode("utf-8", "replace").rstrip().split(" ")
                    # Some writers begin with a line that says how many there are.
                    if len(numbers) > 1 and len(rows) < _MOST_WORDS and word.casefold() not in words:
                        words[word.casefold()] = len(rows)
                        rows.append(np.array(numbers, np.float32))
            self._table = np.stack(rows)
        except (OSError, ValueError) as error:
            raise NoModel(f"{path} holds no table of word vectors that can be read ({str(error)[:120]})") from None
        self._words = words
        self.width = int(self._table.shape[1])
        self.id = f"static:{os.path.basename(os.path.abspath(folder))}@{digest.hexdigest()[:12]}"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """The mean of the words' vectors for each text, of length one; zeros where no word is known."""
        out = np.zeros((len(texts), self.width), np.float32)
        for place, text in enumerate(texts):
            known = [self._words[word] for word in _WORD.findall(text.casefold()) if word in self._words]
            if known:
                out[place] = self._table[known].mean(axis=0)
        return [row.tobytes() for row in floats(out)]
