"""Runs Silero VAD on several streams of audio, each a session of one module, and draws the probability of speech.

    pip install -r examples/streams/requirements.txt && pip install --no-deps silero-vad
    python examples/streams/speech.py [audio.wav ...] [--plot speech.png]

Audio files are 16-bit PCM with one channel and 16,000 samples per second. Without files, the example synthesises vowels and noise.
It reads the model from the wheel and does not import the package, which would need torchaudio.
"""

import argparse
import importlib.metadata
import math
import wave
from collections.abc import Iterator
from pathlib import Path

import torch

import sr

RATE = 16_000
CHUNK = 512  # samples that the model takes
FORMANTS = {'a': (730, 1090, 2440), 'i': (270, 2290, 3010), 'u': (300, 870, 2240), 'e': (530, 1840, 2480)}  # Hz


def model_of_wheel() -> Path:
    files = importlib.metadata.files('silero-vad') or []
    return Path(next(file.locate() for file in files if file.name == 'silero_vad.jit'))


def resonance(signal: torch.Tensor, frequency: float, bandwidth: float = 90) -> torch.Tensor:
    """A two-pole filter, by its impulse response."""
    radius = math.exp(-math.pi * bandwidth / RATE)
    steps = torch.arange(1024, dtype=torch.float32)
    response = radius**steps * torch.sin(2 * math.pi * frequency / RATE * (steps + 1))
    return torch.nn.functional.conv1d(signal.view(1, 1, -1), response.flip(0).view(1, 1, -1), padding=1023)[0, 0, :len(signal)]


def vowel(name: str, pitch: float, seconds: float) -> torch.Tensor:
    """Pulses of the vocal cords through the resonances of the mouth."""
    count = int(seconds * RATE)
    time = torch.arange(count) / RATE
    phase = torch.cumsum(pitch * (1 + 0.05 * torch.sin(2 * math.pi * 4 * time)) / RATE, 0)
    pulses = (phase.floor().diff(prepend=phase[:1].floor()) > 0).float()
    sound = sum(resonance(pulses, frequency) / 2**i for i, frequency in enumerate(FORMANTS[name]))
    envelope = torch.sin(math.pi * torch.arange(count) / count) ** 0.5
    return sound / sound.abs().max() * envelope * 0.4


def synthesised(pitch: float, seed: int) -> torch.Tensor:
    """Two seconds of noise, two of vowels, and again."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for _ in range(2):
        parts.append(torch.zeros(2 * RATE))
        for name in 'aiueaiua':
            parts += [vowel(name, pitch, 0.2), torch.zeros(RATE // 20)]
    audio = torch.cat(parts)
    return audio + 0.003 * torch.randn(len(audio), generator=generator)


def read(path: str) -> torch.Tensor:
    with wave.open(path) as file:
        if (file.getframerate(), file.getnchannels(), file.getsampwidth()) != (RATE, 1, 2):
            raise SystemExit(f'{path}: expected one channel of 16-bit PCM at {RATE} samples a second.')
        samples = torch.frombuffer(bytearray(file.readframes(file.getnframes())), dtype=torch.int16)
    return samples.float() / 2**15


def chunks(audio: torch.Tensor) -> Iterator[torch.Tensor]:
    for first in range(0, len(audio) - CHUNK + 1, CHUNK):
        yield audio[first:first + CHUNK].view(1, CHUNK)


def probabilities(module: sr.StaticModule, streams: list[torch.Tensor]) -> list[list[float]]:
    """Of speech, for each chunk of each stream. The streams arrive side by side."""
    sessions = [module.session() for _ in streams]
    found: list[list[float]] = [[] for _ in streams]
    for pieces in zip(*map(chunks, streams)):  # noqa: B905: a longer stream ends with the shortest
        for session, piece, of_stream in zip(sessions, pieces, found, strict=True):
            of_stream.append(float(session(piece, RATE)))
    return found


def draw(streams: list[torch.Tensor], found: list[list[float]], path: str) -> None:
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(len(streams), 1, sharex=True, squeeze=False, figsize=(9, 2.2 * len(streams)))
    for axis, audio, values in zip(axes[:, 0], streams, found, strict=True):
        axis.plot(torch.arange(len(audio)) / RATE, audio, linewidth=0.3, color='0.6')
        axis.plot(torch.arange(len(values)) * CHUNK / RATE, values, color='tab:red')
        axis.set_ylabel('speech')
        axis.set_ylim(-1, 1.05)
    axes[-1, 0].set_xlabel('seconds')
    plt.tight_layout()
    plt.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('files', nargs='*')
    parser.add_argument('--plot', metavar='FILE', help='where the picture is written')
    given = parser.parse_args()
    streams = [read(path) for path in given.files] or [synthesised(120, 0), synthesised(210, 1)]
    module = sr.load(str(model_of_wheel()))
    found = probabilities(module, streams)
    for i, values in enumerate(found):
        speech = sum(value > 0.5 for value in values)
        print(f'stream {i}: speech in {speech} of {len(values)} chunks of {CHUNK * 1000 // RATE} ms')
    metrics = module.metrics()
    print(f"{metrics['replayed']} of {metrics['calls']} calls were replayed")
    if given.plot:
        draw(streams, found, given.plot)


if __name__ == '__main__':
    main()
