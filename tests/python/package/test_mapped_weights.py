"""Weights that stay in their file, or move to a temporary one."""

import io
import pathlib
import pickle
import zipfile

import pytest
import sr
import torch

from disks import has_disk


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(256, 512), torch.nn.Linear(512, 256)
        self.register_buffer('steps', torch.arange(256))

    def forward(self, x):
        return self.second(torch.relu(self.first(x))) + self.steps


@pytest.fixture
def net():
    torch.manual_seed(3)
    return Net().eval()


@pytest.fixture(params=['exported', 'scripted', 'frozen'])
def file(net, tmp_path, request):
    path = tmp_path / 'net.pt2'
    if request.param == 'exported':
        rows = torch.export.Dim('rows', max=64)
        torch.export.save(torch.export.export(net, (torch.ones(4, 256),), dynamic_shapes=({0: rows},)), path)
    else:
        script = torch.jit.script(net)
        torch.jit.save(torch.jit.freeze(script) if request.param == 'frozen' else script, path)
    return path


def bytes_mapped(path):
    """How many bytes of the file this process maps."""
    extents = [line.split()[0] for line in pathlib.Path('/proc/self/maps').read_text().splitlines()
               if line.endswith(str(path))]
    return sum(int(end, 16) - int(begin, 16) for begin, end in (extent.split('-') for extent in extents))


@torch.no_grad()
def test_calls_give_the_same_results_and_the_file_is_let_go(net, file):
    module = sr.load(file, map_weights=True)
    assert bytes_mapped(file) >= file.stat().st_size
    for rows in (1, 4, 4, 4, 7, 30, 4):
        x = torch.randn(rows, 256)
        torch.testing.assert_close(module(x), net(x))
    assert module.report()['replayed_calls'] > 0
    del module
    assert bytes_mapped(file) == 0


def test_without_it_the_file_is_copied(file):
    module = sr.load(file)
    assert bytes_mapped(file) == 0
    del module


def spilled_bytes(module):
    return module.report()['spilled_weight_bytes']


@pytest.mark.skipif(not has_disk(), reason='there is no local disk for temporary files')
@torch.no_grad()
def test_packed_weights_move_to_a_temporary_file(net, file):
    module = sr.load(file)
    assert spilled_bytes(module) == 0
    for rows in (1, 4, 4, 4, 7, 30, 4):
        x = torch.randn(rows, 256)
        torch.testing.assert_close(module(x), net(x))
    report = module.report()
    matrices = 2 * 256 * 512 * 4
    assert report['spilled_weight_bytes'] == matrices
    assert matrices <= report['weight_bytes'] < matrices + 8192
    assert f'of which {matrices} in a temporary file' in report['text']
    x = torch.randn(5, 256)
    torch.testing.assert_close(pickle.loads(pickle.dumps(module))(x), net(x))


@torch.no_grad()
def test_weights_stay_in_memory_if_the_temporary_directory_is_memory(net, file, monkeypatch):
    monkeypatch.setenv('TMPDIR', '/dev/shm')
    module = sr.load(file)
    x = torch.randn(4, 256)
    for _ in range(4):
        torch.testing.assert_close(module(x), net(x))
    assert spilled_bytes(module) == 0


@torch.no_grad()
def test_the_caller_keeps_weights_in_memory(net, file):
    module, mapped = sr.load(file, spill_weights=False), sr.load(file, map_weights=True)
    for _ in range(4):
        x = torch.randn(4, 256)
        torch.testing.assert_close(module(x), net(x))
        torch.testing.assert_close(mapped(x), net(x))
    assert spilled_bytes(module) == spilled_bytes(mapped) == 0


@torch.no_grad()
def test_a_file_that_was_replaced_changes_nothing(net, file, tmp_path):
    module = sr.load(file, map_weights=True)
    x = torch.randn(4, 256)
    expected = net(x)
    other = tmp_path / 'other'
    other.write_bytes(b'')
    other.replace(file)
    for _ in range(4):
        torch.testing.assert_close(module(x), expected)


# A frozen module has no weights by name.
@pytest.mark.parametrize('file', ['exported', 'scripted'], indirect=True)
@torch.no_grad()
def test_updates_leave_the_file_as_it_was(net, file):
    before = file.read_bytes()
    module = sr.load(file, map_weights=True, updatable_weights=True)
    x = torch.randn(4, 256)
    for _ in range(3):
        module(x)
    net.first.weight.mul_(2)
    module.update(net.state_dict())
    for _ in range(3):
        torch.testing.assert_close(module(x), net(x))
    assert file.read_bytes() == before


def test_what_can_not_be_mapped_is_refused(file):
    for content in (file.read_bytes(), io.BytesIO(file.read_bytes())):
        with pytest.raises(sr.ArgumentError, match='needs the path of a file'):
            sr.load(content, map_weights=True)


def test_compressed_weights_are_refused(net, tmp_path):
    saved, packed = tmp_path / 'net.pt', tmp_path / 'packed.pt'
    torch.jit.save(torch.jit.script(net), saved)
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(packed, 'w', zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    x = torch.randn(4, 256)
    torch.testing.assert_close(sr.load(packed)(x), net(x))
    with pytest.raises(sr.ArgumentError, match='holds it compressed'):
        sr.load(packed, map_weights=True)


@torch.no_grad()
def test_equal_and_shared_weights_are_mapped(tmp_path):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(64, 64, bias=False), torch.nn.Linear(64, 64, bias=False)
            self.b.weight = self.a.weight
            self.c = torch.nn.Parameter(self.a.weight.clone())

        def forward(self, x):
            return self.b(torch.relu(self.a(x))) @ self.c

    net, path = Tied().eval(), tmp_path / 'tied.pt'
    torch.jit.save(torch.jit.script(net), path)
    module, x = sr.load(path, map_weights=True), torch.randn(5, 64)
    for _ in range(4):
        torch.testing.assert_close(module(x), net(x))
    copy = pickle.loads(pickle.dumps(module))
    torch.testing.assert_close(copy(x), net(x))


def test_damaged_files_are_refused(file):
    content = file.read_bytes()
    file.write_bytes(content[:1000])
    with pytest.raises(sr.Error):
        sr.load(file, map_weights=True)
    middle = len(content) // 2  # of a weight
    file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:])
    with pytest.raises(sr.LoadError, match='CRC'):
        sr.load(file, map_weights=True)
