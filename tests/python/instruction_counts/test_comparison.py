"""Files of results, the table, and the arithmetic of changes."""

import json
import pathlib
import re

import pytest

import main
import results
from compare import changes, compare, grown_functions
from core.types import Autograd, Labels, Language, Runtime

HERE = {'torch': '2', 'cpu': 'AVX2'}


def name(what: str, runtime: Runtime = Runtime.EAGER, threads: int = 1, autograd: Autograd = Autograd.FORWARD):
    return (what, *Labels(Language.CPP, runtime, autograd, threads).words())


def one(instructions: float, spread: float = 0.0, **functions: float) -> dict:
    return {'instructions': instructions, 'spread': spread, 'functions': functions}


def of(machine: dict = HERE, **measured: dict) -> results.Results:
    return results.Results(machine, {name(what): result for what, result in measured.items()})


def test_only_changes_beyond_the_spread_count():
    old = of(a=one(1000, 0.02), b=one(1000, 0.02), c=one(1000), d=one(1000))
    new = of(a=one(1049, 0.03), b=one(1051, 0.03), c=one(1004), d=one(1006))
    found = {change.name[0]: change.significant for change in changes(old, new, margin=0.005)}
    assert found == {'a': False, 'b': True, 'c': False, 'd': True}


def test_the_worst_is_first_and_what_shrank_is_last():
    old, new = of(a=one(100), b=one(100), c=one(100)), of(a=one(90), b=one(130), c=one(110))
    found = changes(old, new, 0.01)
    assert [change.name[0] for change in found] == ['b', 'c', 'a']
    assert [round(change.relative, 6) for change in found] == [0.3, 0.1, -0.1]
    report, grew = compare(old, new, 0.01)
    assert grew and report.index('+30.00%') < report.index('+10.00%') < report.index('-10.00%')


def test_what_only_shrank_is_told_and_is_no_failure():
    report, grew = compare(of(a=one(100)), of(a=one(50)), 0.01)
    assert not grew and '-50.00%  100 -> 50  a [C++, eager, forward, 1 threads]' in report


def test_functions_that_grew_are_named_most_first():
    old = {'same': 10.0, 'less': 5.0, 'more': 1.0}
    new = {'same': 10.0, 'less': 4.0, 'more': 3.0, 'new': 7.0}
    assert grown_functions(old, new) == [('new', 7.0), ('more', 2.0)]
    assert len(grown_functions({}, {str(i): 1.0 + i for i in range(9)})) == 5
    report, _ = compare(of(a=one(16, **old)), of(a=one(24, **new)), 0.01)
    assert report.splitlines()[1:3] == ['          +7.0 in new', '          +2.0 in more']


def test_searches_of_the_heap_are_not_held_against_a_change():
    heap = {'_int_malloc': 50.0, 'unlink_chunk.constprop.0': 10.0, 'malloc_consolidate': 5.0, 'f': 35.0}
    found, = changes(of(a=one(100, **heap)), of(a=one(165, **heap | {'_int_malloc': 80.0, 'f': 70.0})), 0.01)
    assert (found.old, found.new, found.grown) == (35, 70, [('f', 35)])
    for entry in ('malloc', 'free', 'sr::_int_malloc'):
        found, = changes(of(a=one(100)), of(a=one(150, **{entry: 50.0})), 0.01)
        assert found.significant


def test_another_machine_is_reported_and_not_held_against_the_change():
    report, grew = compare(of(a=one(1)), of({'torch': '3', 'cpu': 'AVX2'}, a=one(2)), 0.01)
    assert not grew and '+100.00%' in report and 'not held against' in report
    assert compare(of(a=one(1)), of(HERE | {'commit': 'x'}, a=one(2)), 0.01)[1]


def test_what_is_in_one_file_only_is_told():
    report, grew = compare(of(a=one(1), gone=one(1)), of(a=one(1), added=one(1)), 0.01)
    assert not grew and 'old results: gone' in report and 'new results: added' in report
    with pytest.raises(results.ResultError, match='nothing in common'):
        compare(of(a=one(1)), of(b=one(1)), 0.01)


def test_results_come_back_from_their_file(tmp_path: pathlib.Path):
    written = of(a=one(1.5, 0.25, **{'sr::run(int)': 1.0}), ü=one(2))
    results.write(written, tmp_path / 'r.json')
    assert results.read(tmp_path / 'r.json') == written
    assert [file.name for file in tmp_path.iterdir()] == ['r.json']


@pytest.mark.parametrize('text', ['', '{', '[]', '{"format": 1}', '{"format": 1, "machine": {}, "results": [{}]}'])
def test_other_files_are_refused(tmp_path: pathlib.Path, text: str):
    (tmp_path / 'r.json').write_text(text)
    with pytest.raises(results.ResultError, match='holds no results'):
        results.read(tmp_path / 'r.json')


def test_another_format_is_refused(tmp_path: pathlib.Path):
    (tmp_path / 'r.json').write_text(json.dumps({'format': 99, 'machine': {}, 'results': []}))
    with pytest.raises(results.ResultError, match='has the format 99; 1 is read'):
        results.read(tmp_path / 'r.json')


def test_the_table_has_a_row_for_each_definition_and_a_column_for_each_runtime():
    found = results.Results(HERE, {
        name('a'): one(12345.6), name('a', Runtime.SR_INTO): one(10), name('a', Runtime.TORCHSCRIPT): one(20),
        name('a', autograd=Autograd.BACKWARD): one(30), name('a', threads=4): one(40)})
    assert results.table(found).splitlines() == [
        '| instructions a call | eager | TorchScript | sr into |', '|---|---|---|---|',
        '| a [C++] | 12,346 | 20 | 10 |', '| a [C++, backward] | 30 |  |  |', '| a [C++, 4 threads] | 40 |  |  |']


@pytest.mark.parametrize('new, status', [(100, 0), (103, 1), (50, 0)])
def test_the_status_tells_whether_something_grew(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                                 new: float, status: int):
    files = [tmp_path / 'old.json', tmp_path / 'new.json']
    results.write(of(a=one(100)), files[0])
    results.write(of(a=one(new)), files[1])
    monkeypatch.setattr('sys.argv', ['main.py', '--margin', '2', '--compare', *map(str, files)])
    assert main.main() == status


def test_errors_are_sentences(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path):
    missing = str(tmp_path / 'none.json')
    monkeypatch.setattr('sys.argv', ['main.py', '--compare', missing, missing])
    with pytest.raises(SystemExit, match='instruction counts: .*none.json holds no results'):
        main.main()
    monkeypatch.setattr('sys.argv', ['main.py', '--list', '--filter', 'no such name', '--data', str(tmp_path)])
    with pytest.raises(SystemExit, match="no name is found by 'no such name'"):
        main.main()
    monkeypatch.setattr('sys.argv', ['main.py', '--destination', str(tmp_path / 'none' / 'r.json')])
    monkeypatch.setattr('shutil.which', lambda program: program)
    with pytest.raises(SystemExit, match='there is no folder .*none to write to'):
        main.main()
    monkeypatch.setattr('shutil.which', lambda program: None)
    with pytest.raises(SystemExit, match='there is no valgrind here'):
        main.main()


@pytest.mark.parametrize('arguments, reason', [
    (['--filter', '('], "'\\(' is no regular expression"), (['--jobs', '0'], 'invalid positive value')])
def test_wrong_arguments_are_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture,
                                     arguments: list[str], reason: str):
    monkeypatch.setattr('sys.argv', ['main.py', *arguments])
    with pytest.raises(SystemExit):
        main.parse_arguments()
    assert re.search(reason, capsys.readouterr().err)
