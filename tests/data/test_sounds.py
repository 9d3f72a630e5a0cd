"""Sounds in: good ones of every kind, bad ones by name, features against numbers worked out otherwise."""

from __future__ import annotations

import struct
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from xattend import job, recipe
from xattend.data import sounds
from xattend.data.corpus import prepare
from xattend.data.features import Damaged
from xattend.data.fields.base import from_json
from xattend.data.fields.sound import Sound
from xattend.data.hearing import Hearing
from xattend.data.named import Places
from xattend.data.ragged import RaggedStore
from xattend.data.readers.base import Row, open_reader
from xattend.data.readers.lines import BadRow
from xattend.data.spectrum import Spectrum, cosines
from xattend.data.tasks.spoken_digits import Fsdd, SpokenDigits
from xattend.errors import UserError
from xattend.stream import stream

soundfile = pytest.importorskip("soundfile")
RATE = 8000


def tone(seconds: float = 0.5, rate: int = RATE, hertz: float = 440.0) -> np.ndarray[Any, Any]:
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def field(folder: Path, **given: Any) -> Sound:
    made = Sound(rate=RATE, **given)
    made.settle(Places((folder,), (folder,), folder / "features"))
    return made


def test_kinds_bits_channels_and_rates_sound_the_same(tmp_path: Path) -> None:
    plain = field(tmp_path)
    soundfile.write(tmp_path / "16.wav", tone(), RATE, subtype="PCM_16")
    soundfile.write(tmp_path / "24.wav", tone(), RATE, subtype="PCM_24")
    soundfile.write(tmp_path / "float.wav", tone(), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "a.flac", tone(), RATE)
    soundfile.write(tmp_path / "a.ogg", tone(), RATE)
    soundfile.write(tmp_path / "stereo.wav", np.stack([tone(), tone()], axis=1), RATE)
    soundfile.write(tmp_path / "fast.wav", tone(rate=44100), 44100)
    first = plain.read(["16.wav"]).values
    for name, close in (("24.wav", 0.02), ("float.wav", 0.02), ("a.flac", 0.02), ("stereo.wav", 0.02), ("a.ogg", 1.5), ("fast.wav", 1.5)):
        other = plain.read([name]).values
        assert other.shape == first.shape, name
        # where there is something to hear: silence differs in its rounding
        loud = plain.checked("16.wav").astype(np.float32)[5:45] > -5
        difference = np.abs(plain.checked(name).astype(np.float32) - plain.checked("16.wav").astype(np.float32))[5:45][loud]
        assert difference.max() < close, name


def test_what_is_no_sound_is_told_apart(tmp_path: Path) -> None:
    good = field(tmp_path, max_seconds=5.0)
    soundfile.write(tmp_path / "good.wav", tone(), RATE)
    whole = (tmp_path / "good.wav").read_bytes()
    (tmp_path / "truncated.wav").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "declared.wav").write_bytes(whole[:40] + struct.pack("<I", 10 * len(whole)) + whole[44:])
    (tmp_path / "empty.wav").write_bytes(b"")
    (tmp_path / "text.wav").write_text("this is no sound at all, only text")
    soundfile.write(tmp_path / "none.wav", np.zeros(0, np.float32), RATE)
    soundfile.write(tmp_path / "nan.wav", np.where(np.arange(4000) == 7, np.nan, tone()), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "long.wav", tone(6.0), RATE)
    soundfile.write(tmp_path / "short.wav", tone(0.01), RATE)
    soundfile.write(tmp_path / "a.flac", np.random.default_rng(0).normal(0, 0.2, 20_000), RATE)
    (tmp_path / "cut.flac").write_bytes((tmp_path / "a.flac").read_bytes()[:9000])
    soundfile.write(tmp_path / "a.ogg", np.random.default_rng(0).normal(0, 0.2, 20_000), RATE)
    (tmp_path / "cut.ogg").write_bytes((tmp_path / "a.ogg").read_bytes()[:-2000])
    soundfile.write(tmp_path / "s.ogg", tone(0.5), RATE)
    for share in (50, 95):
        (tmp_path / f"{share}.ogg").write_bytes((tmp_path / "s.ogg").read_bytes()[: (tmp_path / "s.ogg").stat().st_size * share // 100])
    soundfile.write(tmp_path / "big.wav", tone(), RATE, subtype="PCM_16", endian="BIG")
    assert (tmp_path / "big.wav").read_bytes()[:4] == b"RIFX"
    good.decode_item(good.look("big.wav"))
    (tmp_path / "bigcut.wav").write_bytes((tmp_path / "big.wav").read_bytes()[:3000])
    soundfile.write(tmp_path / "a.aiff", tone(), RATE)
    soundfile.write(tmp_path / "huge.wav", 1e25 * tone(), RATE, subtype="FLOAT")
    streamed = bytearray((tmp_path / "a.flac").read_bytes())
    streamed[21] &= 0xF0  # the 36 bits of STREAMINFO that say how many samples there are
    streamed[22:26] = bytes(4)
    (tmp_path / "streamed.flac").write_bytes(streamed)
    reasons = {}
    for name in ("50.ogg", "95.ogg", "bigcut.wav", "a.aiff", "huge.wav", "streamed.flac", "truncated.wav", "declared.wav", "empty.wav", "text.wav", "none.wav", "nan.wav", "long.wav", "short.wav", "cut.flac", "cut.ogg", "missing.wav"):
        with pytest.raises(BadRow) as bad:
            good.decode_item(good.look(name))
        reasons[name] = bad.value.reason
        assert name in bad.value.message or name == "missing.wav"
    assert reasons == {
        "50.ogg": "a sound cut off or damaged", "95.ogg": "a sound cut off or damaged", "bigcut.wav": "a sound cut off or damaged",
        "a.aiff": "not a sound", "huge.wav": "a sound with samples that are no numbers", "streamed.flac": "a sound of unknown length",
        "truncated.wav": "a sound cut off or damaged", "declared.wav": "a sound cut off or damaged", "empty.wav": "a sound's file is empty",
        "text.wav": "not a sound", "none.wav": "a sound without samples", "nan.wav": "a sound with samples that are no numbers",
        "long.wav": "a sound too long", "short.wav": "a sound too short", "cut.flac": "a sound cut off or damaged",
        "cut.ogg": "a sound cut off or damaged", "missing.wav": "a sound that is not there",
    }  # fmt: skip
    strict = field(tmp_path, convert=False)
    soundfile.write(tmp_path / "stereo.wav", np.stack([tone(), tone()], axis=1), RATE)
    soundfile.write(tmp_path / "fast.wav", tone(rate=16000), 16000)
    strict.look("good.wav")
    for name in ("stereo.wav", "fast.wav"):
        with pytest.raises(BadRow, match="convert"):
            strict.look(name)


RECIPE = """
[data]
train = "rows.tsv"
bad_rows = "{bad}"
source = {{ kind = "sound", rate = 8000, {more} }}
target = {{ unit = "character" }}
[encoder]
kind = "listen"
size = 8
layers = 1
halve = 1
[decoder]
size = 8
embedding = 4
[attention]
kind = "hybrid"
size = 8
[training]
steps = 4
save_every = 2
sentences = 3
log_every = 1
"""


def test_sounds_of_like_length_are_answered_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a.wav", "a name that is long.wav", "b.wav", "c.wav"]
    for name, seconds in zip(names, (2.0, 0.2, 0.2, 2.0), strict=True):
        soundfile.write(tmp_path / name, tone(seconds), RATE)
    given = field(tmp_path)
    assert [given.extent(name) for name in (*names, "a.wav+b.wav")] == [200, 20, 20, 200, 220]
    monkeypatch.setattr("xattend.stream.BATCH_CHARACTERS", 400)
    together: list[list[str]] = []

    def answer(of: list[Row], _: list[None]) -> list[str]:
        together.append([row.source for row in of])
        return together[-1]

    rows = [Row(name, None, "text", number) for number, name in enumerate(names, 1)]
    assert list(stream(zip(rows, repeat(None)), answer, extent=given.extent)) == names
    assert together == [["a name that is long.wav", "b.wav"], ["a.wav", "c.wav"]]
    together.clear()
    (tmp_path / "cut.wav").write_bytes((tmp_path / "a.wav").read_bytes()[:500])
    with pytest.raises(UserError, match=r"rows:3: .*cut\.wav") as wrong:  # the first that is wrong, whatever is answered first
        list(stream(((Row(name, None, "rows", n), None) for n, name in enumerate(["a.wav", "b.wav", "cut.wav", "gone.wav"], 1)), answer, extent=given.extent))
    assert (wrong.value.line, together) == (3, [])


def rows_of(folder: Path) -> None:
    for number in range(9):
        soundfile.write(folder / f"{number}.wav", tone(0.2 + 0.05 * number, hertz=200 + 100 * number), RATE)
    soundfile.write(folder / "stereo.wav", np.stack([tone(), tone()], axis=1), RATE)
    (folder / "cut.wav").write_bytes((folder / "3.wav").read_bytes()[:500])
    names = [*[f"{number}.wav" for number in range(9)], "stereo.wav", "cut.wav", "gone.wav", "1.wav+2.wav"]
    (folder / "rows.tsv").write_text("".join(f"{name}\t{number}a\n" for number, name in enumerate(names)))


def test_a_bad_sound_stops_at_its_row_or_is_counted(tmp_path: Path) -> None:
    rows_of(tmp_path)
    stop = recipe.parse(RECIPE.format(bad="stop", more="deltas = 1"), "mine.toml").resolve()
    with pytest.raises(UserError, match=r"cut\.wav") as error:
        prepare(stop, tmp_path / "cache", root=tmp_path)
    assert error.value.line == 11
    skip = recipe.parse(RECIPE.format(bad="skip", more="deltas = 1"), "mine.toml").resolve()
    data = prepare(skip, tmp_path / "cache", root=tmp_path)
    said = "\n".join(data.report.lines())
    assert "a sound cut off or damaged" in said
    assert "a sound that is not there" in said
    assert "1 sound with several channels" in said
    train = data.splits["train"]
    assert len(train) == 11
    batch = train.batch(range(11))
    assert batch.source is not None
    assert batch.source.values.shape[2] == 80
    assert batch.source.lengths_B.tolist() == train.lengths[:, 0].tolist()  # what batches are planned by is what they get
    assert int(batch.source.lengths_B[10]) == int(batch.source.lengths_B[1] + batch.source.lengths_B[2])


def test_training_goes_on_bit_for_bit_though_sounds_are_changed_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XATTEND_CACHE", str(tmp_path / "cache"))
    rows_of(tmp_path)
    more = "speed = 0.2, time_masks = 1, band_masks = 1"
    (tmp_path / "mine.toml").write_text(RECIPE.format(bad="skip", more=more))
    whole, _ = job.start(tmp_path / "mine.toml", out=tmp_path / "whole")
    half, _ = job.start(tmp_path / "mine.toml", out=tmp_path / "half", overrides=["training.steps=2"])
    job.resume(half.path, overrides=["training.steps=4"])
    assert whole.model.read_bytes() == half.model.read_bytes()


def test_cepstra_deltas_and_resampling_against_other_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1).normal(0, 0.1, 4000).astype(np.float32)
    spectrum = Spectrum(RATE, 40)
    energies = spectrum.logmel(random)
    # the first frame by hand: emphasis, window from the first sample on, NumPy's transform
    signal = np.concatenate([random[:1], random[1:] - 0.97 * random[:-1]])
    windowed = np.zeros(spectrum.points)
    windowed[: spectrum.window] = signal[: spectrum.window] * np.hanning(spectrum.window)
    by_hand = np.log(np.abs(np.fft.rfft(windowed)) ** 2 @ spectrum.bands_FM.numpy() + 1e-7)
    np.testing.assert_allclose(energies[0], by_hand, atol=1e-3)
    assert np.allclose(cosines(40, 40).T @ cosines(40, 40), np.diag([2.0, *[1.0] * 39]), atol=1e-5)  # orthogonal
    assert (energies > -16.2).all()
    early = np.zeros(4000, np.float32)
    early[:100] = random[:100]
    heard = spectrum.logmel(early).max(axis=1)
    assert heard[0] > -5
    assert (heard[3:] < -16).all()  # frames that begin behind it
    for old, new in ((8000, 16000), (44100, 8000), (11025, 8000)):
        made = sounds.resampled(tone(0.5, old), old, new)
        wanted = tone(0.5, new)
        assert abs(len(made) - len(wanted)) <= 1
        assert np.abs(made[200:-200] - wanted[: len(made)][200:-200]).max() < 0.01
    for old, new in ((22254, 8000), (44101, 16000), (96001, 8000)):  # next to nothing in common: filters for all phases would be gigabytes
        made = sounds.resampled(tone(1.0, old), old, new)
        assert len(made) == new
        assert np.abs(made[200:-200] - tone(1.0, new)[200:-200]).max() < 0.01
    random = np.random.default_rng(2).normal(0, 0.1, 8000).astype(np.float32)
    monkeypatch.setattr(sounds, "MOST_TAPS", 0)
    each = sounds.resampled(random, 44100, 16000)
    monkeypatch.undo()
    np.testing.assert_allclose(each, sounds.resampled(random, 44100, 16000), atol=1e-6)
    high = sounds.resampled(tone(0.5, 16000, hertz=5000), 16000, 8000)
    assert np.abs(high[100:-100]).max() < 0.01  # what the lower rate cannot hold is gone


def test_what_training_changes_depends_on_pass_and_sound_alone() -> None:
    hears = Hearing(speed=0.2, time_masks=2, time_width=10, band_masks=1, band_width=3)
    frames = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    assert np.array_equal(hears.at(3)(frames, b"a" * 32), hears.at(3)(frames, b"a" * 32))
    assert not np.array_equal(hears.at(3)(frames, b"a" * 32)[:20], hears.at(4)(frames, b"a" * 32)[:20])
    assert not np.array_equal(hears.at(3)(frames, b"a" * 32)[:20], hears.at(3)(frames, b"b" * 32)[:20])
    assert len(hears(frames, b"a" * 32)) == 60  # outside of training nothing changes
    plain, noisy = Hearing(), Hearing(noise=0.5)
    assert np.array_equal(noisy(frames, b"a" * 32), plain(frames, b"a" * 32))
    assert abs(float((noisy.at(1)(frames, b"a" * 32) - plain(frames, b"a" * 32)).std()) - 0.5) < 0.05


def test_features_that_were_given(tmp_path: Path) -> None:
    frames = np.random.default_rng(0).normal(size=(20, 13)).astype(np.float32)
    np.save(tmp_path / "a.npy", frames)
    (tmp_path / "a.mfc").write_bytes(struct.pack(">i", frames.size) + frames.astype(">f4").tobytes())
    (tmp_path / "cut.mfc").write_bytes((tmp_path / "a.mfc").read_bytes()[:-8])
    (tmp_path / "little.mfc").write_bytes(struct.pack("<i", frames.size) + frames.astype("<f4").tobytes())
    np.save(tmp_path / "wide.npy", np.zeros((5, 12)))
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    given = field(tmp_path, features="given", normalise="none")
    for name in ("a.npy", "a.mfc"):
        torch.testing.assert_close(given.read([name]).values[0], torch.from_numpy(frames), atol=1e-2, rtol=1e-2)
    for name in ("cut.mfc", "little.mfc", "wide.npy", "object.npy"):
        with pytest.raises(UserError, match=name):
            given.read([name])


def test_normalising_by_the_training_sounds_is_kept_with_the_field(tmp_path: Path) -> None:
    rows_of(tmp_path)
    given = recipe.parse(RECIPE.format(bad="skip", more='normalise = "training"'), "mine.toml").resolve()
    data = prepare(given, tmp_path / "cache", root=tmp_path)
    assert data.source is not None
    batch = data.splits["train"].batch(range(11)).source
    assert batch is not None
    heard = batch.values[batch.mask_BS]
    torch.testing.assert_close(heard.mean(dim=0), torch.zeros(40), atol=0.02, rtol=0)
    torch.testing.assert_close(heard.std(dim=0), torch.ones(40), atol=0.05, rtol=0)
    again = from_json(data.source.to_json())
    again.settle(Places((tmp_path,), (tmp_path,), tmp_path / "elsewhere"))
    torch.testing.assert_close(again.read(["1.wav"]).values, data.source.read(["1.wav"]).values)


def test_records_of_different_lengths_survive_and_damage_is_found(tmp_path: Path) -> None:
    store = RaggedStore(tmp_path / "s", 2, np.float16)
    keys = [bytes([number]) * 32 for number in range(3)]
    with store.writer({}) as writer:
        writer.add(keys[:2], [np.full((3, 2), 1, np.float16), np.full((5, 2), 2, np.float16)])
    with (tmp_path / "s" / "values").open("ab") as stream:
        stream.write(b"half a rec")  # a process died here
    with store.writer({}) as writer:
        writer.add(keys[2:], [np.full((1, 2), 3, np.float16)])
    assert [store[key].shape for key in keys] == [(3, 2), (5, 2), (1, 2)]
    assert store[keys[2]].tolist() == [[3, 3]]
    data = bytearray((tmp_path / "s" / "values").read_bytes())
    data[14] ^= 1
    (tmp_path / "s" / "values").write_bytes(bytes(data))
    other = RaggedStore(tmp_path / "s", 2, np.float16)
    assert other.intact(keys[0])
    assert not other.intact(keys[1])
    with pytest.raises(Damaged):
        other[keys[1]]


def test_spoken_digits_say_what_they_say() -> None:
    task = SpokenDigits(digits=[2, 3], test_digits=[4, 8], rows=20)
    splits = {name: list(rows) for name, rows in task.splits().items()}
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 20, "validation": 10, "test": 10}
    assert {len(target) for _, target in splits["test"]} == {4, 8}
    everywhere = [source for rows in splits.values() for source, _ in rows]
    assert len(set(everywhere)) == len(everywhere)
    source, target = splits["train"][0]
    assert source.endswith(f" {target}")
    spec = source.partition(":")[2]
    assert np.array_equal(SpokenDigits.sound(spec, RATE), SpokenDigits.sound(spec, RATE))
    other = spec.replace(" ", "1 ", 1)  # another speaker
    assert not np.array_equal(SpokenDigits.sound(other, RATE)[:2000], SpokenDigits.sound(spec, RATE)[:2000])
    with pytest.raises(UserError):
        SpokenDigits.sound("nobody 3 12", RATE)


def test_fsdds_takes_stay_in_their_split() -> None:
    for name, rows in Fsdd(rows=50).splits().items():
        takes = {int(file.rpartition("_")[2].removesuffix(".wav")) for source, _ in rows for file in source.split("+")}
        low, high = {"train": (10, 49), "validation": (5, 9), "test": (0, 4)}[name]
        assert takes <= set(range(low, high + 1))


def test_sphinx_transcriptions(tmp_path: Path) -> None:
    (tmp_path / "x.transcription").write_text("<s> YES </s> (an1)\nGO ON (an2)\n")
    (tmp_path / "x.fileids").write_text("a/an1\nb/an2\n")
    rows = list(open_reader("x.transcription", root=tmp_path))
    assert [(row.source, row.target) for row in rows] == [("a/an1.mfc", "YES"), ("b/an2.mfc", "GO ON")]
    (tmp_path / "x.fileids").write_text("b/an2\na/an1\n")
    with pytest.raises(UserError, match=r"another|beside"):
        list(open_reader("x.transcription", root=tmp_path))


def test_white_noise_over_every_recording(tmp_path: Path) -> None:
    """Percent of each one's own largest sample; the same sound always has the same, another another; what is stored without it is not taken."""
    soundfile.write(tmp_path / "loud.wav", tone(), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "quiet.wav", 0.1 * tone(hertz=600.0), RATE, subtype="FLOAT")
    plain, noisy = field(tmp_path), field(tmp_path, hiss=20)
    over = noisy.samples(noisy.look("loud.wav+quiet.wav")) - plain.samples(plain.look("loud.wav+quiet.wav"))
    loud, quiet = over[: len(tone())], over[len(tone()) :]
    assert loud.std() == pytest.approx(0.5 * 0.2, rel=0.1)
    assert quiet.std() == pytest.approx(0.05 * 0.2, rel=0.1)
    again, other = (noisy.samples(noisy.look(name)) for name in ("loud.wav+quiet.wav", "loud.wav+loud.wav"))
    assert (again[: len(tone())] == tone() + loud).all()
    assert not (other[: len(tone())] == again[: len(tone())]).any()
    assert (noisy.samples(noisy.look("spoken-digits:3 1 31")) == noisy.samples(noisy.look("spoken-digits:3 1 31"))).all()
    ended = field(tmp_path, hiss=20, tail=0.25)
    longer = ended.samples(ended.look("loud.wav+quiet.wav"))
    assert len(longer) == len(again) + RATE // 4
    assert longer[-RATE // 4 :].std() == pytest.approx(0.05 * 0.2, rel=0.1)  # noise goes on over the silence
    assert len({one.store.folder for one in (plain, noisy, ended)}) == 3
    with pytest.raises(UserError, match="hiss"):
        Sound(features="given", hiss=20)
