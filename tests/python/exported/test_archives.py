"""Archives that other versions of PyTorch have written (make_archives.py): sr reads them, and agrees with eager then."""

import pathlib

import pytest
import sr
import torch

FOLDER = pathlib.Path(__file__).parent / 'archives'
ARCHIVES = sorted(FOLDER.glob('*.pt2'))


def test_archives_are_here():
    assert {path.name.partition('_')[2] for path in ARCHIVES} == {'tied.pt2', 'branches.pt2', 'layers.pt2'}
    assert len({path.name.partition('_')[0] for path in ARCHIVES}) >= 6


@pytest.mark.parametrize('path', ARCHIVES, ids=lambda path: path.stem)
def test_archive(path: pathlib.Path):
    module = sr.load(path)
    calls = torch.load(path.with_suffix('.pt'), weights_only=True)
    assert calls
    for _ in range(4):  # the general path, a recording, replays
        for arguments, expected in calls:
            torch.testing.assert_close(module(*arguments), expected, rtol=1e-5, atol=1e-6)
