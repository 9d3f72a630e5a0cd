"""Spoken-like digits, made from nothing but numbers: harmonics under formants, and shaped noise (after Klatt 1980, much simplified).

A digit is a few segments. A voiced one has three formants, each with a value at its beginning and its end; harmonic k of the voice
at time t has the amplitude

    A_k(t) = a(t) k^-.6 sum_i g_i / sqrt(1 + ((k f0 - F_i(t)) / (B_i / 2))^2)

An unvoiced one is noise around a centre; a stop is silence and a burst. Formants glide from segment to segment. A speaker has a pitch, a
length of vocal tract (all formants scaled), a tempo and a breath; every utterance has its own pitch line, tempo, gaps and background.

>>> samples = speak("speaker 3, take 1: 42", [4, 2], speaker=3, rate=8000)
>>> samples.dtype, 0.4 < len(samples) / 8000 < 2
(dtype('int16'), True)
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

Samples = np.ndarray[Any, np.dtype[np.int16]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
STEP = 0.005  # seconds between two values of a formant
GAINS, WIDTHS = (1.0, 0.63, 0.35), (80.0, 110.0, 160.0)  # of the formants
TOP = 3800.0  # hertz: no harmonic above


class Segment(NamedTuple):
    """Seconds, how loud the voice is, formants from and to, and how loud, high and wide the noise is."""

    length: float
    voice: float
    formants: tuple[float, float, float]
    to: tuple[float, float, float] | None = None
    noise: float = 0.0
    centre: float = 0.0
    wide: float = 600.0


def _hiss(length: float, loud: float, centre: float, wide: float, voice: float = 0.0) -> Segment:
    return Segment(length, voice, (300, 1400, 2500), None, loud, centre, wide)


def _stop(centre: float) -> list[Segment]:
    return [Segment(0.045, 0.0, (400, 1500, 2500)), _hiss(0.022, 0.5, centre, 900)]


S, F, V = _hiss(0.09, 0.35, 3500, 500), _hiss(0.08, 0.1, 2600, 1500), _hiss(0.05, 0.06, 2600, 1200, 0.35)
N, R = Segment(0.07, 0.45, (250, 1500, 2500)), Segment(0.06, 0.8, (350, 1250, 1650))
AY = Segment(0.16, 1.0, (720, 1200, 2500), (360, 2100, 2600))
DIGITS: tuple[list[Segment], ...] = (
    [_hiss(0.06, 0.2, 3300, 600, 0.3), Segment(0.07, 0.9, (300, 2150, 2800)), R, Segment(0.13, 1.0, (520, 950, 2400), (400, 800, 2400))],
    [Segment(0.06, 0.8, (300, 700, 2200)), Segment(0.11, 1.0, (650, 1200, 2500)), N],
    [*_stop(3300), Segment(0.15, 0.9, (330, 1300, 2300), (320, 900, 2250))],
    [_hiss(0.07, 0.08, 3000, 1200), R, Segment(0.14, 0.9, (280, 2250, 2950))],
    [F, Segment(0.12, 1.0, (550, 850, 2400)), R],
    [F, AY, V],
    [S, Segment(0.06, 0.9, (400, 1950, 2550)), *_stop(1900), S],
    [S, Segment(0.07, 0.9, (550, 1800, 2500)), V, Segment(0.04, 0.8, (550, 1300, 2400)), N],
    [Segment(0.14, 1.0, (480, 1950, 2600), (330, 2250, 2700)), *_stop(3000)],
    [N, AY, N],
)


class Speaker(NamedTuple):
    """pitch in hertz, scale of the formants, seconds a second of speech takes, noise in the voice."""

    pitch: float
    tract: float
    slow: float
    breath: float

    @staticmethod
    def number(number: int) -> Speaker:
        """The same number is the same speaker, everywhere."""
        draw = Random(f"speaker {number}")
        high = draw.random()  # short tracts have high voices
        return Speaker(95 + 125 * high + draw.uniform(-10, 10), 0.9 + 0.2 * high + draw.uniform(-0.04, 0.04), draw.uniform(0.85, 1.2), draw.uniform(0.01, 0.05))


def speak(name: str, digits: Sequence[int], *, speaker: int, rate: int) -> Samples:
    """Digits one after the other. All that is random about them depends on `name` alone."""
    draw, who = Random(name), Speaker.number(speaker)
    segments = [Segment(draw.uniform(0.03, 0.1), 0.0, (400, 1500, 2500))]
    for digit in digits:
        slow = who.slow * draw.uniform(0.9, 1.12)
        segments += [one._replace(length=one.length * slow * draw.uniform(0.9, 1.1)) for one in DIGITS[digit]]
        segments.append(Segment(draw.uniform(0.02, 0.12), 0.0, (400, 1500, 2500)))
    noise = np.random.Generator(np.random.PCG64(draw.getrandbits(64)))
    steps = [max(1, round(one.length / STEP)) for one in segments]
    voiced = _voice(segments, steps, who, draw, rate)
    heard = voiced * (1 + who.breath * noise.standard_normal(len(voiced))) + _noise(segments, steps, who, noise, rate, len(voiced))
    heard = heard / max(float(np.abs(heard).max()), 1e-9) * draw.uniform(0.35, 0.8)
    heard = heard + draw.uniform(0.0005, 0.004) * noise.standard_normal(len(heard))
    return np.clip(np.round(32767 * heard), -32768, 32767).astype(np.int16)


def _tracks(segments: Sequence[Segment], steps: Sequence[int], tract: float) -> tuple[Floats, Floats]:
    """Loudness of the voice and the three formants every STEP seconds, smoothed: nobody's tongue jumps."""
    loud = np.concatenate([np.full(count, one.voice) for one, count in zip(segments, steps, strict=True)])
    formants = np.concatenate([
        np.linspace(one.formants, one.to or one.formants, count) for one, count in zip(segments, steps, strict=True)
    ])  # fmt: skip
    bell = np.hanning(9)[1:-1] / np.hanning(9).sum()
    smooth = [np.convolve(np.pad(track, 3, mode="edge"), bell, mode="valid") for track in (loud, *formants.T)]
    return smooth[0], tract * np.stack(smooth[1:], axis=1)


def _voice(segments: Sequence[Segment], steps: Sequence[int], who: Speaker, draw: Random, rate: int) -> Floats:
    loud_T, formants_T3 = _tracks(segments, steps, who.tract)
    time_T = np.arange(len(loud_T)) * STEP
    fall, sway = draw.uniform(0.03, 0.15), draw.uniform(0.02, 0.06)
    pitch_T = who.pitch * draw.uniform(0.93, 1.07) * (1 - fall * time_T / time_T[-1] + sway * np.sin(2 * np.pi * draw.uniform(1.5, 3) * time_T))
    each = round(STEP * rate)  # samples a step
    ramp_E = np.arange(each) / each

    def fine(track_KT: Floats) -> Floats:
        """From a value a step to a value a sample."""
        before, after = track_KT[:, :-1, None], track_KT[:, 1:, None]
        line: Floats = (before * (1 - ramp_E) + after * ramp_E).reshape(len(track_KT), -1)
        return line

    number_K = np.arange(1, int(min(TOP, 0.45 * rate) / pitch_T.min()) + 1)
    hertz_KT = number_K[:, None] * pitch_T
    peaks_KT = sum(gain / np.sqrt(1 + ((hertz_KT - formants_T3[:, i]) / (wide / 2)) ** 2) for i, (gain, wide) in enumerate(zip(GAINS, WIDTHS, strict=True)))
    loud_KT = peaks_KT * loud_T * number_K[:, None] ** -0.6 * (hertz_KT < min(TOP, 0.45 * rate))
    turn_N = np.exp(2j * np.pi * np.cumsum(fine(pitch_T[None])[0]) / rate)
    wave_N, found_N = np.ones_like(turn_N), np.zeros(len(turn_N))
    for loud_N in fine(loud_KT):
        wave_N = wave_N * turn_N  # the next harmonic, by one product
        found_N += loud_N * wave_N.imag
    return found_N


def _noise(segments: Sequence[Segment], steps: Sequence[int], who: Speaker, noise: np.random.Generator, rate: int, length: int) -> Floats:
    found, begin = np.zeros(length), 0
    for one, count in zip(segments, steps, strict=True):
        size = min(count * round(STEP * rate), length - begin)
        if one.noise and size > 1:
            hertz_F = np.fft.rfftfreq(size, 1 / rate)
            shape_F = np.exp(-0.5 * ((hertz_F - min(one.centre * who.tract, 0.46 * rate)) / one.wide) ** 2)
            hiss = np.fft.irfft(np.fft.rfft(noise.standard_normal(size)) * shape_F, size)
            edge = np.minimum(1.0, np.minimum(np.arange(size), np.arange(size)[::-1]) / (0.01 * rate))
            found[begin : begin + size] += 4 * one.noise * hiss * edge
        begin += size
    return found
