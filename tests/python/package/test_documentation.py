"""Docstrings exist and their examples run; types agree with the stubs."""

import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import sr

PACKAGE = pathlib.Path(sr.__file__).parent
ALLOWED = pathlib.Path(__file__).with_name('stubtest_allowed.txt')
MODULES = ['sr', *(f'sr.{module.name}' for module in pkgutil.iter_modules(sr.__path__) if module.name != '_C')]


@pytest.mark.parametrize('name', MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    for thing in (sr.StaticModule, sr.load, sr.compile):
        assert '>>>' in thing.__doc__


def test_every_option_is_described():
    for option in sr.Options.__annotations__:
        assert option in sr.Options.__doc__


@pytest.mark.parametrize('tool', [['mypy', '--strict', '--no-incremental', str(PACKAGE)],
                                  ['mypy.stubtest', 'sr', '--allowlist', str(ALLOWED)]])
def test_types(tool, tmp_path):
    pytest.importorskip('mypy')
    checked = subprocess.run([sys.executable, '-m', *tool], capture_output=True, text=True, cwd=tmp_path,
                             env={**os.environ, 'PYTHONPATH': str(PACKAGE.parent.resolve())})
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_public_name_is_described():
    inherited = {name for base in (dict, tuple, Exception, object) for name in dir(base)} - {'__call__'}
    for name in sr.__all__:
        thing = getattr(sr, name)
        assert inspect.getdoc(thing), name
        members = dir(thing) if inspect.isclass(thing) else ()
        for member in members:
            if not member.startswith('_') and member not in inherited:
                assert inspect.getdoc(getattr(thing, member)), f'{name}.{member}'
    for caller in sr.StaticModule, sr.Batcher, sr.BoundCall:
        assert len(inspect.getdoc(caller.__call__)) > 60, caller
    assert 'out=' in inspect.getdoc(sr.StaticModule.__call__)
