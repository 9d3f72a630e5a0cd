"""Sounds: frames of log-mel energies or cepstra, as many as a sound is long.

    source = { kind = "sound", rate = 8000 }                                           40 log-mel energies every 10 ms
    source = { kind = "sound", features = "mfcc", deltas = 2 }                         13 cepstra and how they change: 39 numbers
    source = { kind = "sound", features = "given", size = 13, deltas = 2 }             .npy or CMU .mfc files, computed elsewhere
    source = { kind = "sound", speed = 0.1, time_masks = 2, band_masks = 2 }           no two passes hear the same

A row names a file (WAV, FLAC, Ogg), several with + between them, which are heard one after the other, or what a task says. Frames are
stored once, by content; deltas, normalisation and what training changes come when a batch is made (data/hearing.py).

>>> Sound(features="mfcc", deltas=2).space.features, Sound(deltas=1).space.features
((39,), (80,))
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
import torch

from xattend import registry
from xattend.data import cache as caches
from xattend.data import sounds
from xattend.data.features import Damaged
from xattend.data.fields.base import Ids
from xattend.data.fields.media import KEY, Array, Media
from xattend.data.hearing import Hearing, Normalise
from xattend.data.named import Item
from xattend.data.ragged import RaggedStore
from xattend.data.readers.base import Row
from xattend.data.readers.lines import BadRow
from xattend.data.spectrum import BANDS, Frames, Spectrum, with_deltas
from xattend.data.tasks.base import Frame
from xattend.errors import UserError
from xattend.registry import register
from xattend.types import Padded, Space, first_of

VERSION = 3  # of how features are computed
SHORTEST = 0.02  # seconds
Kind = Literal["log-mel", "mfcc", "given"]
SIZES = {"log-mel": BANDS, "mfcc": 13, "given": 13}
Few = Annotated[int, pydantic.Field(ge=0, le=100)]


class Collator:
    """Keys in, frames out."""

    def __init__(self, store: RaggedStore, hearing: Hearing) -> None:
        self.store, self.hearing = store, hearing

    def at(self, epoch: int) -> Collator:
        """The same in a pass over the data."""
        return Collator(self.store, self.hearing.at(epoch))

    def __call__(self, rows: Sequence[Ids]) -> Padded:
        keys = [np.asarray(row[:KEY], "<i4").tobytes() for row in rows]
        heard = {key: self.hearing(self.store[key], key) for key in set(keys)}
        return padded([heard[key] for key in keys])._replace(first_B=first_of(keys))


def padded(sounds_BTD: Sequence[Frames]) -> Padded:
    """Sounds of different lengths side by side."""
    lengths_B = torch.tensor([len(sound) for sound in sounds_BTD])
    values_BSD = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(np.ascontiguousarray(sound)) for sound in sounds_BTD], batch_first=True)
    return Padded(values_BSD, torch.arange(values_BSD.shape[1]) < lengths_B[:, None])


def _called(item: Item) -> str:
    return str(item.path or (", ".join(map(str, item.files)) if item.files else "the sound"))


@register("field", "sound")
class Sound(Media):
    """A side of rows that name sounds."""

    things = "sounds"

    def __init__(
        self, *,
        features: Annotated[Kind, "log-mel energies, cepstra of them, or given: files of features"] = "log-mel",
        rate: Annotated[int, pydantic.Field(ge=1000, le=192_000), "samples a second; sounds of another rate are brought to it"] = 16_000,
        size: Annotated[Annotated[int, pydantic.Field(ge=1, le=1024)] | None, "numbers of a frame; by default 40 energies, or 13 cepstra"] = None,
        window: Annotated[float, pydantic.Field(gt=0, le=1), "seconds of a frame"] = 0.025,
        hop: Annotated[float, pydantic.Field(gt=0, le=1), "seconds from frame to frame"] = 0.01,
        deltas: Annotated[int, pydantic.Field(ge=0, le=2), "how frames change, beside them: 1 once, 2 also how that changes"] = 0,
        normalise: Annotated[Normalise, "each sound by itself, by the training sounds, or not at all"] = "sound",
        convert: Annotated[bool, "mix channels and bring other rates to `rate`; false: such a sound is a bad row"] = True,
        max_seconds: Annotated[float, pydantic.Field(gt=0), "a longer sound is refused by its header, before it is decoded"] = 60.0,
        tail: Annotated[float, pydantic.Field(ge=0, le=10), "seconds of silence after every sound, for recordings that are cut off at the last word"] = 0.0,
        hiss: Annotated[float, pydantic.Field(ge=0, le=1000), "white noise over every recording, in percent of its largest sample; a sound always has the same"] = 0.0,
        speed: Annotated[float, pydantic.Field(ge=0, lt=1), "in training, faster or slower by up to this share"] = 0.0,
        noise: Annotated[float, pydantic.Field(ge=0), "in training, deviation of what is added to normalised frames"] = 0.0,
        time_masks: Annotated[Few, "in training, runs of frames that are hidden ..."] = 0,
        time_width: Annotated[Few, "... each at most so long"] = 20,
        band_masks: Annotated[Few, "in training, runs of bands that are hidden ..."] = 0,
        band_width: Annotated[Few, "... each at most so wide"] = 6,
        seed: Annotated[int, "of what training changes"] = 1,
    ) -> None:  # fmt: skip
        super().__init__({
            "features": features, "rate": rate, "size": size, "window": window, "hop": hop, "deltas": deltas, "normalise": normalise,
            "convert": convert, "max_seconds": max_seconds, "tail": tail, "hiss": hiss, "speed": speed, "noise": noise,
            "time_masks": time_masks, "time_width": time_width, "band_masks": band_masks, "band_width": band_width, "seed": seed,
        })  # fmt: skip
        self.features, self.rate, self.hop, self.convert, self.max_seconds = features, rate, hop, convert, max_seconds
        self.size, self.tail, self.hiss = size or SIZES[features], tail, hiss
        if (tail or hiss) and features == "given":
            raise UserError("tail and hiss are for sounds, and features = \"given\" reads files of features")
        self.hearing = Hearing(
            deltas=deltas, normalise=normalise, speed=speed, noise=noise, time_masks=time_masks, time_width=time_width, band_masks=band_masks,
            band_width=band_width, seed=seed,
        )  # fmt: skip

    @cached_property
    def spectrum(self) -> Spectrum:
        bands = self.size if self.features == "log-mel" else BANDS
        return Spectrum(self.rate, bands, self.settings["window"], self.hop)

    @property
    def space(self) -> Space:
        return Space(features=(self.size * (1 + self.hearing.deltas),))

    def record(self) -> tuple[tuple[int, ...], Any]:
        return (self.size,), np.float16

    def made_by(self) -> dict[str, Any]:
        made: dict[str, Any] = {"kind": "sound", "version": VERSION, "features": self.features, "size": self.size}
        if self.features != "given":
            made |= {"rate": self.rate, "window": self.settings["window"], "hop": self.hop}
            made |= {name: value for name, value in (("tail", self.tail), ("hiss", self.hiss)) if value}
        return made

    @property
    def store(self) -> RaggedStore:
        if not isinstance(self._store, RaggedStore):
            folder = self.places.features or caches.cache_folder() / "features"
            self._store = RaggedStore(folder / caches.digest({**self.made_by(), "dtype": "float16"})[:32], self.size, np.float16)
        return self._store

    # --- one sound

    def look(self, text: str) -> Item:
        task, colon, spec = text.partition(":")
        if colon and task in registry.names("task"):
            try:
                samples = registry.find("task", task).sound(spec, self.rate)
            except UserError as error:
                raise BadRow("a sound that cannot be made", f"'{text}' cannot be made: {error.message}") from None
            return Item(frames=[samples])
        names = [text] if self._find(text) else text.split("+")
        files = [self._found(name) for name in names]
        if self.features == "given":
            return Item(files[0]) if len(files) == 1 else Item(files=files)
        heads = [sounds.header(file, self.max_seconds) for file in files]
        odd = [file for file, head in zip(files, heads, strict=True) if head.channels > 1 or head.rate != self.rate]
        if odd and not self.convert:
            head = heads[files.index(odd[0])]
            said = f"{head.channels} channel{'s' * (head.channels > 1)} at {head.rate} Hz, and one at {self.rate} is read: set convert = true, or 'rate'"
            raise BadRow("a sound of another rate or with several channels", f"{odd[0]}: {said}")
        return Item(files[0], odd=bool(odd)) if len(files) == 1 else Item(files=files, odd=bool(odd))

    def _find(self, name: str) -> Path | None:
        for folder in self.places.folders:
            try:
                if (folder / name).is_file():
                    return folder / name
            except OSError:  # a text that is no file name at all, too long for one
                return None
        return None

    def _found(self, name: str) -> Path:
        found = self._find(name) if name else None
        if found is None:
            where = " and not ".join(str(folder / name) for folder in dict.fromkeys(self.places.folders))
            raise BadRow("a sound that is not there", f"no such sound: not {where} ({self._where()})")
        return found

    def _where(self) -> str:
        sets = "" if len(self.places.bases) > 1 else "give --data DIR, or set XATTEND_DATA, if it is of a data set; "
        return f"{sets}data.folder says where sounds of your own lie"

    def samples(self, item: Item) -> sounds.Samples:
        """What is heard, at the field's rate."""
        if item.frames:
            heard = [(np.asarray(item.frames[0]) / 32768).astype(np.float32)]
        else:
            heard = [sounds.read(file, self.rate, self.max_seconds) for file in ([item.path] if item.path is not None else item.files)]
        heard[-1] = np.pad(heard[-1], (0, round(self.tail * self.rate)))
        return np.concatenate(sounds.with_hiss(heard, self.hiss, item.key()) if self.hiss else heard)

    def decode_item(self, item: Item) -> Array:
        """Its frames, as they are stored."""
        if self.features == "given":
            if item.frames:
                raise BadRow("a sound, and features are read", "a task makes sounds, and features = \"given\" reads files of features")
            files = [item.path] if item.path is not None else list(item.files)
            frames_TD = np.concatenate([sounds.features(file, self.size, round(self.max_seconds / self.hop)) for file in files])
        else:
            samples = self.samples(item)
            if len(samples) < SHORTEST * self.rate:
                raise BadRow("a sound too short", f"{_called(item)}: {len(samples)} samples: too short to hear anything: {sounds.AGAIN}")
            frames_TD = self.spectrum.logmel(samples) if self.features == "log-mel" else self.spectrum.mfcc(samples, self.size)
            if not np.isfinite(frames_TD.astype(np.float16)).all():
                said = f"its samples are far too large (up to {float(np.abs(samples).max()):.0e}, and 1 is full scale): is it of another byte order?"
                raise BadRow("a sound with samples that are no numbers", f"{_called(item)}: {said}")
        return frames_TD.astype(np.float16)

    def finish(self, decoded: Sequence[Array]) -> Any:
        """Frames are stored as they are; sounds are not of one length."""
        return list(decoded)

    def notes(self) -> list[str]:
        count = self._counts["odd"]
        said = f"with several channels or another rate: mixed to one channel at {self.rate} Hz"
        return [f"{count} sound{'s' * (count > 1)} {said}"] if count else []

    # --- rows: a key, and how many frames there are

    def encode(self, text: str) -> list[int]:
        ids = super().encode(text)
        try:
            return [*ids, self.store.length(np.array(ids, "<i4").tobytes())]
        except KeyError:
            return [*ids, len(self.decode_item(self.look(text)))]

    def length(self, ids: Sequence[int]) -> int:
        return ids[KEY]

    def collator(self) -> Collator:  # type: ignore[override]  # keys in and arrays out, as with other media
        return Collator(self.store, self.hearing)

    def read(self, texts: Sequence[str], rows: Sequence[Row] = ()) -> Padded:
        """From the store what is there; the rest is decoded, and not kept."""
        heard: dict[str, Frames] = {}
        for number, text in enumerate(texts):
            try:
                heard[text] = heard[text] if text in heard else self.hearing(*self._frames(text))
            except BadRow as bad:
                place = {"file": rows[number].file, "line": rows[number].line} if rows else {}
                raise UserError(bad.message, **place) from None  # type: ignore[arg-type]
        return padded([heard[text] for text in texts])

    def _frames(self, text: str) -> tuple[Array, bytes]:
        item = self.look(text)
        key = item.key()
        try:
            return self.store[key], key
        except (KeyError, Damaged):
            return self.decode_item(item), key

    def extent(self, text: str) -> int:
        """In frames, as headers have it: a name says nothing. A BadRow if they say that it cannot be read."""
        if self.features == "given" or text.partition(":")[0] in registry.names("task"):
            return len(text)
        heads = [sounds.header(self._found(name), self.max_seconds) for name in ([text] if self._find(text) else text.split("+"))]
        return round(sum(head.samples / head.rate for head in heads) / self.hop)

    def seconds(self, text: str) -> float:
        """How long what a text names lasts."""
        return self.hop * len(self.checked(text))

    def checked(self, text: str) -> Array:
        """The frames of what a text names; a bad sound is the user's error."""
        try:
            return self._frames(text)[0]
        except BadRow as bad:
            raise UserError(bad.message) from None

    def shown(self, text: str) -> Frame:
        """A picture of the frames, low bands below: [bands, frames, 3]."""
        frames_TD = self.checked(text).astype(np.float32)
        low, high = np.percentile(frames_TD, 5, axis=None), np.percentile(frames_TD, 99.5, axis=None)
        grey_TD = np.clip(255 * (frames_TD - low) / max(float(high - low), 1e-6), 0, 255).astype(np.uint8)
        return np.repeat(grey_TD.T[::-1, :, None], 3, axis=2)

    # --- mean and variance of the training sounds

    def fit(self, texts: Iterable[str]) -> None:
        if self.hearing.normalise != "training":
            return
        count, total, squares = 0, np.zeros(self.space.vector()), np.zeros(self.space.vector())
        for text in texts:
            frames_TD = with_deltas(self.store[self.key(text)].astype(np.float32), self.hearing.deltas).astype(np.float64)
            count, total, squares = count + len(frames_TD), total + frames_TD.sum(axis=0), squares + np.square(frames_TD).sum(axis=0)
        mean_D = total / max(count, 1)
        self._by_training(mean_D, np.sqrt(np.maximum(squares / max(count, 1) - mean_D**2, 1e-6)))

    def _by_training(self, mean_D: Array, deviation_D: Array) -> None:
        self.hearing = replace(self.hearing, mean_D=mean_D.astype(np.float32), deviation_D=deviation_D.astype(np.float32))

    def to_json(self) -> dict[str, Any]:
        described = super().to_json()
        if self.hearing.mean_D is not None and self.hearing.deviation_D is not None:
            both = np.stack([self.hearing.mean_D, self.hearing.deviation_D]).astype("<f4")
            described["normal"] = base64.b64encode(both.tobytes()).decode("ascii")
        return described

    def restore(self, data: dict[str, Any]) -> None:
        if self.hearing.normalise == "training" and "normal" in data:
            both = np.frombuffer(base64.b64decode(data["normal"], validate=True), "<f4").reshape(2, self.space.vector())
            if not np.isfinite(both).all() or (both[1] <= 0).any():
                raise ValueError("mean and deviation are no numbers")
            self._by_training(both[0], both[1])
