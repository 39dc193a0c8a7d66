"""Output of callgrind, its evaluation by a worker, programs of many statements, and one real collection."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from core.api import TimerArgs
from core.expand import Case
from core.types import Autograd, Labels, Language, Runtime
from execution import statements
from execution.work import WORKER, Measure, Workers
from worker import callgrind
from worker.main import FILE, summary

DUMP = '''version: 1
creator: callgrind-3.19.0
positions: line
events: Ir

ob=(1) /lib/libtorch.so
fl=(1) ???
fn=(1) sr::run(int)
0 100
+3 20
cfn=(2) at::add
calls=4 0
0 400
fn=(2)
0 390
* 10
fn=(1)
-2 5

totals: 525
'''


def test_functions_are_read_without_what_they_call():
    assert callgrind.read_functions(DUMP) == {'sr::run(int)': 125, 'at::add': 400}


def test_the_median_collection_is_kept_with_its_functions():
    counts = [{'a': 900, 'b': 200}, {'a': 900, 'b': 100, 'tiny': 0.5}, {'a': 890, 'b': 100, 'less': -1}]
    found = summary(5.0, counts, number=10)
    assert found['collections'] == [110, 100.05, 98.9] and found['instructions'] == 100.05
    assert found['spread'] == pytest.approx(11.1 / 100.05) and found['wall_ns'] == 5
    assert found['functions'] == {'a': 90, 'b': 10}
    with pytest.raises(RuntimeError, match='nothing was counted'):
        summary(1, [{}], 10)


def test_the_file_is_taken_off_a_function():
    assert [FILE.sub('', name) for name in ('???:at::f(a::b)', 'Python/ceval.c:run', './a/b.c:f')] == [
        'at::f(a::b)', 'run', 'f']


def test_a_wrong_request_is_told(tmp_path: pathlib.Path):
    done = subprocess.run([sys.executable, str(WORKER)], capture_output=True, text=True)
    assert done.returncode == 1 and 'usage' in done.stderr


def cpp_case(stmt: str, **options) -> Case:
    return Case((stmt,), Labels(Language.CPP, Runtime.EAGER, Autograd.FORWARD, 1),
                TimerArgs(stmt, language=Language.CPP, **options))


def test_statements_of_one_program_keep_their_own_set_up():
    source = statements.source_of([TimerArgs('f(x);', 'int x = 1;', '#include <map>\nvoid f(int) {}'),
                                   TimerArgs('f(x);', 'int x = 2;', '#include <map>\nvoid f(int) {}')])
    assert source.count('#include <map>') == 1 and source.count('void f(int) {}') == 2
    first, second = source.index('namespace statement_0'), source.index('namespace statement_1')
    assert source.index('#include <map>') < first < source.index('int x = 1;') < second < source.index('int x = 2;')
    assert 'all[] = {statement_0::run, statement_1::run}' in source


def test_statements_become_calls_of_the_program(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    cases = [Case(('p',), cpp_case('1;').labels, TimerArgs('x')), cpp_case('1;'), cpp_case('2;', program=('/runner',)),
             cpp_case('3;', num_threads=2)]
    monkeypatch.setattr(statements, 'build', lambda args, folder: pathlib.Path('/program') if len(args) == 2 else None)
    made = statements.compile_statements(cases, tmp_path)
    assert [case.args.program for case in made] == [
        (), ('/program', '--statement', '0'), ('/runner',), ('/program', '--statement', '1')]
    assert made[3].args.num_threads == 2
    monkeypatch.setattr(statements, 'build', lambda args, folder: None)
    assert statements.compile_statements(cases, tmp_path) == cases


def test_a_program_that_does_not_compile_leaves_its_log(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv('CXX', f'{sys.executable} -c "raise SystemExit(\'no such type\')"')
    assert statements.build([TimerArgs('x')], tmp_path) is None
    assert [file.read_text().strip() for file in tmp_path.glob('*.log')] == ['no such type']


PROGRAM = r'''
#include "driver.hpp"
int main(int argc, char** argv) {
  return sr::counts::drive(argc, argv, [](const sr::counts::Driver& driver) {
    const int loops = std::stoi(driver.option("--loops"));
    driver.run([&](std::int64_t times) {
      for (std::int64_t time = 0; time < times * loops; ++time) asm volatile(".rept 10\n nop\n .endr");
    });
  });
}
'''


@pytest.mark.skipif(shutil.which('valgrind') is None or shutil.which('g++') is None, reason='needs valgrind and g++')
def test_a_real_collection_counts_instructions(tmp_path: pathlib.Path):
    (tmp_path / 'program.cpp').write_text(PROGRAM)
    program = str(tmp_path / 'program')
    subprocess.run(['g++', '-std=c++20', '-O2', f'-I{statements.HERE}', str(tmp_path / 'program.cpp'), '-o', program],
                   check=True)
    workers = Workers(tmp_path / 'logs', Measure(number=1000, repeats=3, seconds=0.001, timeout=300))
    one, ten = (workers.run(cpp_case('nop', program=(program, '--loops', str(loops)))) for loops in (1, 10))
    assert 10 < one['instructions'] < 20 and one['spread'] < 1e-3 and len(one['collections']) == 3
    # An iteration costs ten instructions and two or three of the loop: a whole number, but for the switch of counting.
    turn = (ten['instructions'] - one['instructions']) / 9
    assert turn == pytest.approx(round(turn), abs=0.01) and 12 <= round(turn) <= 14
    assert one['wall_ns'] > 0 and sum(one['functions'].values()) == pytest.approx(one['instructions'], rel=0.01)


@pytest.mark.skipif(shutil.which('valgrind') is None or shutil.which('g++') is None, reason='needs valgrind and g++')
def test_a_program_that_fails_says_why(tmp_path: pathlib.Path):
    (tmp_path / 'program.cpp').write_text(PROGRAM)
    program = str(tmp_path / 'program')
    subprocess.run(['g++', '-std=c++20', f'-I{statements.HERE}', str(tmp_path / 'program.cpp'), '-o', program],
                   check=True)
    with pytest.raises(RuntimeError, match='ended with 1 and said: the option --loops is missing'):
        callgrind.time_call((program,), 0.01, 1)
    with pytest.raises(RuntimeError, match='(?s)under callgrind and said: .*the option --loops is missing'):
        callgrind.collect((program,), 1, 1, 1)
