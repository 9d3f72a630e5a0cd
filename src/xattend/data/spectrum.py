"""What a recogniser hears: log energies in bands of the mel scale, or cepstra of them (Davis and Mermelstein 1980).

    m(f)    = 2595 log10(1 + f / 700)                                the mel scale
    E_tb    = sum_f W_bf |STFT(x)_tf|^2                              triangles W, equally wide in mel
    logmel  = log(E_tb + floor)
    mfcc_tc = sqrt(2 / M) sum_b logmel_tb cos(pi c (b + 1/2) / M)    c = 0 .. size - 1
    delta_t = sum_n n (x_{t+n} - x_{t-n}) / (2 sum_n n^2)            n = 1, 2; the ends repeat

A frame is `window` seconds long, and one begins every `hop` seconds, from the first sample on; what is left over at the end fills a last frame.

>>> tone = np.sin(np.arange(4000) * 2 * np.pi * 1000 / 8000).astype(np.float32)
>>> bands_TM = Spectrum(8000, 40).logmel(tone)
>>> bands_TM.shape, int(bands_TM[10].argmax()), round(float(mel_centres(8000, 40)[18]))
((50, 40), 18, 1018)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

Samples = np.ndarray[Any, np.dtype[np.float32]]
Frames = np.ndarray[Any, np.dtype[np.float32]]  # [frames, width]
FLOOR = 1e-7  # of an energy: what silence has
BANDS = 40  # that cepstra are made of
EMPHASIS = 0.97


def _mel(hertz: float) -> float:
    return 2595 * math.log10(1 + hertz / 700)


def mel_centres(rate: int, bands: int) -> Frames:
    """The middle of each band, in hertz."""
    return _edges(rate, bands)[1:-1]


def _edges(rate: int, bands: int) -> Frames:
    mels = np.linspace(_mel(20.0), _mel(rate / 2), bands + 2)
    return (700 * (10 ** (mels / 2595) - 1)).astype(np.float32)


def triangles(rate: int, bins: int, bands: int) -> Frames:
    """[bins, bands]: how much of each bin of the spectrum counts in each band."""
    edges = _edges(rate, bands)
    hertz_F1 = np.linspace(0, rate / 2, bins, dtype=np.float32)[:, None]
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    shares: Frames = np.clip(np.minimum((hertz_F1 - low) / (middle - low), (high - hertz_F1) / (high - middle)), 0, None)
    return shares


def cosines(bands: int, size: int) -> Frames:
    """[bands, size]: the transform from bands to cepstra."""
    turn_BC = np.pi * np.arange(size) * (np.arange(bands)[:, None] + 0.5) / bands
    return (math.sqrt(2 / bands) * np.cos(turn_BC)).astype(np.float32)


class Spectrum:
    """Samples of one rate to frames."""

    def __init__(self, rate: int, bands: int = BANDS, window: float = 0.025, hop: float = 0.01) -> None:
        self.window, self.hop = max(2, round(window * rate)), max(1, round(hop * rate))
        self.points = 2 ** math.ceil(math.log2(self.window))
        while self.points < 8 * bands:  # or low bands would have no bin of their own
            self.points *= 2
        # zeros behind the window: torch would put a shorter one into the middle of the points, and frames would lie late
        self.hann = torch.nn.functional.pad(torch.hann_window(self.window, periodic=False), (0, self.points - self.window))
        self.bands_FM = torch.from_numpy(triangles(rate, self.points // 2 + 1, bands))

    def frames(self, samples: int) -> int:
        """How many frames so many samples make."""
        return -(-samples // self.hop)

    def logmel(self, samples: Samples) -> Frames:
        """[frames, bands]"""
        signal = torch.from_numpy(np.ascontiguousarray(samples, np.float32))
        signal = torch.cat([signal[:1], signal[1:] - EMPHASIS * signal[:-1]])  # speech falls off towards high frequencies: lift them
        count = self.frames(len(signal))
        signal = torch.nn.functional.pad(signal, (0, (count - 1) * self.hop + self.points - len(signal)))
        spectrum_FT = torch.stft(signal, self.points, self.hop, self.points, self.hann, center=False, return_complex=True)
        energy_TM = spectrum_FT.abs().square().T[:count] @ self.bands_FM
        found: Frames = (energy_TM + FLOOR).log().numpy()
        return found

    def mfcc(self, samples: Samples, size: int) -> Frames:
        """[frames, size]"""
        bands_TM = self.logmel(samples)
        found: Frames = bands_TM @ cosines(bands_TM.shape[1], size)
        return found


def with_deltas(frames_TD: Frames, order: int) -> Frames:
    """The frames, and beside them how they change; with order 2, how that changes, too.

    >>> with_deltas(np.arange(5, dtype=np.float32)[:, None], 1)[:, 1].tolist()  # a slope of one, flatter at the ends
    [0.5, 0.8..., 1.0, 0.8..., 0.5]
    """
    found = [frames_TD]
    for _ in range(order):
        padded = np.pad(found[-1], ((2, 2), (0, 0)), mode="edge")
        last = len(padded)
        slope = (padded[3 : last - 1] - padded[1 : last - 3] + 2 * (padded[4:] - padded[: last - 4])) / 10
        found.append(slope.astype(np.float32))
    return np.concatenate(found, axis=1)
