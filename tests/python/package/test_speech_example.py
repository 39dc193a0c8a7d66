"""Tests examples/streams/speech.py on a small model, and on the real one if its wheel is installed."""

import importlib.util
import pathlib
import sys
from importlib import metadata

import pytest
import torch

import sr

FILE = pathlib.Path(__file__).parents[3] / 'examples' / 'streams' / 'speech.py'


@pytest.fixture(scope='module')
def speech():
    spec = importlib.util.spec_from_file_location('speech', FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Loudness(torch.nn.Module):
    """Keeps the end of its input and a mean in attributes, like Silero VAD."""

    context: torch.Tensor
    mean: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.context = torch.zeros(1, 64)
        self.mean = torch.zeros(1, 1)
        self.rate = 0

    def forward(self, x: torch.Tensor, rate: int) -> torch.Tensor:
        if rate != self.rate:
            self.mean = torch.zeros(1, 1)
        y = torch.cat([self.context, x], 1)
        self.context = y[:, -64:]
        self.mean = self.mean * 0.5 + y.abs().mean(1, keepdim=True)
        self.rate = rate
        return self.mean.clamp(0, 1)


def test_streams_do_not_hear_each_other(speech):
    streams = [speech.synthesised(120, 0)[: 20 * speech.CHUNK], 3 * speech.synthesised(210, 1)[: 20 * speech.CHUNK]]
    scripted = torch.jit.script(Loudness().eval())
    found = speech.probabilities(sr.StaticModule(scripted), streams)
    for audio, values in zip(streams, found, strict=True):
        reference = torch.jit.script(Loudness().eval())
        expected = [float(reference(chunk, speech.RATE)) for chunk in speech.chunks(audio)]
        assert values == pytest.approx(expected, abs=1e-5)


def test_speech_is_found(speech, tmp_path, monkeypatch, capsys):
    try:
        metadata.files('silero-vad')
    except metadata.PackageNotFoundError:
        pytest.skip('the wheel of silero-vad is not installed')
    monkeypatch.setattr(sys, 'argv', ['speech.py'])
    speech.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for line in lines[:2]:
        assert 60 < int(line.split('speech in ')[1].split()[0]) < 190
