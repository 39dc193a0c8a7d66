"""The choice of a build for the torch that is installed."""

import sys
import types

import pytest
import torch

import sr
from sr._build import folder_of, locate_build


def package_with(folders, tmp_path, monkeypatch):
    for folder in folders:
        (tmp_path / folder).mkdir()
    package = types.ModuleType('package_of_test')
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, 'package_of_test', package)
    return package.__name__, package.__path__


@pytest.mark.parametrize('version', ['2.13.0', '2.13.0+cpu', '2.13.1+cu132', '2.13.0a0+git1234'])
def test_patch_releases_and_flavours_share_a_build(version, tmp_path, monkeypatch):
    package = package_with(['torch_2_12', 'torch_2_13'], tmp_path, monkeypatch)
    assert folder_of(version) == 'torch_2_13'
    assert locate_build(*package, version) == [str(tmp_path / 'torch_2_13')]


@pytest.mark.parametrize('version', ['2.1.3', '2.14.0', '3.13.0'])
def test_another_torch_is_refused_with_the_versions_there_are(version, tmp_path, monkeypatch):
    package = package_with(['torch_2_9', 'torch_2_13', 'torchless', 'serving'], tmp_path, monkeypatch)
    with pytest.raises(ImportError, match=rf'was built for torch 2\.9, 2\.13, and torch {version} is installed'):
        locate_build(*package, version)


def test_the_package_of_this_process_fits():
    assert sr.info()['built_for_torch'].split('.')[:2] == torch.__version__.split('.')[:2]
    with pytest.raises(ImportError, match='is installed'):
        locate_build('sr', sr.__path__, '1.0.0')
