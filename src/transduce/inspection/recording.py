"""A recording: every number of one sentence's way through a model, with what it needs to be read without the model."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from transduce.errors import DataError, told
from transduce.inspection.capture import Axes
from transduce.inspection.search_tree import SearchTree
from transduce.inspection.tokens import TokenTable

FORMAT = 1
NOTES = "recording.json"
_DATE = (1980, 1, 1, 0, 0, 0)
"""Of everything in the file, so that equal recordings are equal files."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What a recording holds beside its tensors; all of it goes into JSON."""

    format: int
    model: str
    """Its kind, as experiments spell it."""
    capabilities: tuple[str, ...]
    source_language: str
    target_language: str
    streams: dict[str, TokenTable]
    """As the task's batches have them. `source`: what the model translates; `previous`: what a decoder reads at each
    step; `expected`: what is written there."""
    folded: tuple[tuple[str, str], ...]
    """What normalisation changed in the source before it was encoded: (before, after)."""
    vocabulary: tuple[str, ...]
    """Every piece that the model can write, by id."""
    axes: dict[str, Axes]
    """Of each tensor. A stream's name stands for its positions, `previous` for the steps of the decoder."""
    tree: SearchTree | None


@dataclass(frozen=True, slots=True, repr=False)
class Recording(Notes):
    """Named float32 tensors as the model's taps name them, without the axis of the batch.

    `decoder.1.cross.weights[h, t, s]` is how much head h of the second decoder layer looks at source position s at step
    t. Beside them stand `….norms`, which no tap has: ‖α · x W^V W^O‖ for each of those weights.
    """

    tensors: dict[str, np.ndarray]

    @property
    def source(self) -> str:
        return self.streams["source"].text if "source" in self.streams else ""

    @property
    def translation(self) -> str:
        return self.streams["expected"].text

    @property
    def title(self) -> str:
        return " → ".join(text for text in (self.source, self.translation) if text)

    @property
    def places(self) -> tuple[str, ...]:
        """Where the model attends, such as `decoder.1.cross`: each has a tensor `PLACE.weights`."""
        attending = (n for n, tensor in self.tensors.items() if n.endswith(".weights") and tensor.ndim == 3)
        return tuple(n.removesuffix(".weights") for n in attending)

    def notes(self) -> dict[str, Any]:
        """What stands beside the tensors, ready for JSON."""
        return _NOTES.dump_python(self, mode="json")

    def save(self, path: Path | str) -> None:
        """Write an `.npz`, which numpy opens by itself; the notes are in it as `recording.json`."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo(NOTES, _DATE), _NOTES.dump_json(self), zipfile.ZIP_DEFLATED)
            for name, tensor in self.tensors.items():
                content = io.BytesIO()
                np.lib.format.write_array(content, tensor, allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), content.getvalue(), zipfile.ZIP_DEFLATED)
        write_whole(Path(path), buffer.getvalue())

    @classmethod
    def load(cls, path: Path | str) -> Recording:
        """Read a saved recording. Raises DataError for a file that is none."""
        try:
            with zipfile.ZipFile(path) as archive:
                notes = _NOTES.validate_json(archive.read(NOTES))
                tensors = {
                    name.removesuffix(".npy"): np.lib.format.read_array(
                        io.BytesIO(archive.read(name)), allow_pickle=False
                    )
                    for name in archive.namelist()
                    if name.endswith(".npy")
                }
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror or error})", path=path) from None
        except (KeyError, ValueError, zipfile.BadZipFile, ValidationError) as error:
            reason = str(error).split("\n", 1)[0]
            raise DataError(f"is no recording that `transduce inspect` saved ({reason})", path=path) from None
        shapes = {name: (tensor.dtype.name, tensor.ndim) for name, tensor in tensors.items()}
        if notes.format != FORMAT or shapes != {name: ("float32", len(axes)) for name, axes in notes.axes.items()}:
            raise DataError("was saved by another version of transduce, or is not complete: record it again", path=path)
        return cls(**{field.name: getattr(notes, field.name) for field in fields(Notes)}, tensors=tensors)

    def __repr__(self) -> str:
        return f"<Recording of {self.title!r}: {self.model}, {len(self.tensors)} tensors>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, in a frame of its own."""
        from transduce.inspection.payload import payload
        from transduce.page import document

        page = escape(document([payload(self)], self.title))
        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{page}" style="width:100%;height:50rem;border:0"></iframe>'
        )


_NOTES = TypeAdapter(Notes)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    aside = path.with_name(f".{path.name}.part")
    with told(path):
        try:
            aside.write_bytes(content)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
