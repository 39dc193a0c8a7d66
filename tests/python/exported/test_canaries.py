"""Nothing in a file is unpickled by Python: canaries in every record that torch.export.load or torch.jit.load read."""

import io
import json
import os
import pathlib
import pickle
import zipfile

import pytest
import sr
import torch


class Canary:
    """Unpickling it makes a folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.makedirs, (self.folder, 0o777, True)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)
        self.register_buffer('offset', torch.arange(2.), persistent=False)

    def forward(self, x):
        return self.linear(x) + self.offset


@pytest.fixture
def folder(tmp_path):
    return tmp_path / 'canary'


@pytest.fixture
def payloads(folder):
    saved = io.BytesIO()
    torch.save(Canary(folder), saved)
    return {'pickle': pickle.dumps(Canary(folder)), 'torch.save': saved.getvalue(),
            'protocol 0': pickle.dumps(Canary(folder), protocol=0)}


def archive():
    file = io.BytesIO()
    torch.export.save(torch.export.export(Net().eval(), (torch.ones(5, 4),)), file)
    return file.getvalue()


def archive_of_2_8():
    """Whose weights are pickled."""
    return (pathlib.Path(__file__).parent / 'archives' / '2.8.0_tied.pt2').read_bytes()


def records(content):
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def packed(contents):
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w') as new:
        for name, content in contents.items():
            new.writestr(name, content)
    return out.getvalue()


def try_to_load(content, tmp_path):
    """Each way to load, and a call if that works."""
    path = tmp_path / 'model'
    path.write_bytes(content)
    for load in (lambda: sr.load(content), lambda: sr.load(path), lambda: sr.load(path, map_weights=True)):
        try:
            module = load()
            module(torch.ones(5, 4))
        except sr.Error:
            pass


def test_the_canaries_sing(payloads, folder):
    for payload in payloads.values():
        if payload.startswith(b'PK'):
            torch.load(io.BytesIO(payload), weights_only=False)
        else:
            pickle.loads(payload)
        assert folder.is_dir()
        folder.rmdir()


@pytest.mark.parametrize('make', [archive, archive_of_2_8])
def test_every_record_may_be_a_canary(payloads, folder, tmp_path, make):
    whole = records(make())
    assert any('sample_inputs' in name for name in whole)
    for name in whole:
        for payload in payloads.values():
            try_to_load(packed(whole | {name: payload}), tmp_path)
            assert not folder.exists(), name


@pytest.mark.parametrize('kind', ['weights', 'constants'])
def test_weights_and_constants_that_are_said_to_be_pickled(payloads, folder, tmp_path, kind):
    whole = records(archive())
    config = next(name for name in whole if name.endswith(f'{kind}_config.json'))
    entries = json.loads(whole[config])
    entries['config'] = entries['config'] or {'offset': {}}
    for entry in entries['config'].values():
        entry.update(path_name='canary', is_param=False, use_pickle=True)
        entry.setdefault('tensor_meta', None)
    for meta in ('of the tensor', None):
        for entry in entries['config'].values():
            if meta is None:
                entry['tensor_meta'] = None
        for payload in payloads.values():
            canary = str(pathlib.PurePosixPath(config).parent / 'canary')
            try_to_load(packed(whole | {config: json.dumps(entries).encode(), canary: payload}), tmp_path)
            assert not folder.exists()


def test_custom_objects_and_extra_files(payloads, folder, tmp_path):
    whole = records(archive())
    root = next(iter(whole)).partition('/')[0]
    config = next(name for name in whole if name.endswith('constants_config.json'))
    entry = {'path_name': 'custom_obj_0', 'is_param': False, 'use_pickle': True, 'tensor_meta': None}
    for payload in payloads.values():
        added = {config: json.dumps({'config': {'obj': entry}}).encode(),
                 f'{root}/data/constants/custom_obj_0': payload, f'{root}/extra/canary.pkl': payload,
                 f'{root}/data/aotinductor/model/canary.pkl': payload}
        try_to_load(packed(whole | added), tmp_path)
        assert not folder.exists()


def test_every_record_of_torchscript_may_be_a_canary(payloads, folder, tmp_path):
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(Net().eval(), torch.ones(5, 4)), file)
    whole = records(file.getvalue())
    for name in whole:
        for payload in payloads.values():
            try_to_load(packed(whole | {name: payload}), tmp_path)
            assert not folder.exists(), name


def test_python_reads_no_part_of_the_file(monkeypatch, tmp_path):
    content, x = archive(), torch.ones(5, 4)
    expected = torch.export.load(io.BytesIO(content)).module()(x)

    def refuse(*args, **options):
        raise AssertionError('Python was asked to read a part of the file')

    for owner, name in ((torch.export, 'load'), (torch, 'load'), (torch.jit, 'load'), (pickle, 'load'),
                        (pickle, 'loads'), (pickle, 'Unpickler')):
        monkeypatch.setattr(owner, name, refuse)
    path = tmp_path / 'model.pt2'
    path.write_bytes(content)
    for module in (sr.load(content), sr.load(path), sr.load(path, map_weights=True)):
        torch.testing.assert_close(module(x), expected)
