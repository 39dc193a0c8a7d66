"""Workers that answer, fail, die once, hang or are stopped; small programs stand in for the real worker."""

import json
import os
import pathlib
import signal
import sys
import threading
import time

import pytest

from core.api import TimerArgs
from core.expand import Case
from core.types import Autograd, Labels, Language, Runtime
from execution import runner
from execution.work import Measure, WorkerError, Workers

RESULT = {'instructions': 10.0, 'spread': 0.0, 'wall_ns': 1.0, 'collections': [10.0], 'functions': {}}
# The common beginning of the workers below: `args` is the TimerArgs, answer() writes the result.
COMMON = f'''
import json, os, pathlib, signal, subprocess, sys, time
request, result = map(pathlib.Path, sys.argv[1:])
fields = json.loads(request.read_text())
args = json.loads(fields['args'])
def answer(**more):
    result.write_text(json.dumps({RESULT!r} | more))
def first(mark=request.with_suffix('.mark')):
    was = mark.exists()
    mark.touch()
    return not was
'''


def case(stmt: str) -> Case:
    return Case(('a', stmt), Labels(Language.PYTHON, Runtime.EAGER, Autograd.FORWARD, 1), TimerArgs(stmt))


def workers(folder: pathlib.Path, code: str, timeout: float = 60) -> Workers:
    return Workers(folder, Measure(number=7, timeout=timeout), (sys.executable, '-c', COMMON + code))


def test_a_worker_gets_the_request_and_its_result_comes_back(tmp_path: pathlib.Path):
    told = workers(tmp_path, 'answer(number=fields["number"], stmt=args["stmt"])').run(case('x'))
    assert told == RESULT | {'number': 7, 'stmt': 'x'}
    assert not list(tmp_path.iterdir())


def test_a_worker_that_died_once_is_started_again(tmp_path: pathlib.Path):
    told = workers(tmp_path, 'os.kill(os.getpid(), signal.SIGSEGV) if first() else answer()').run(case('x'))
    assert told == RESULT


def test_a_worker_that_dies_twice_fails_and_leaves_its_log(tmp_path: pathlib.Path):
    with pytest.raises(WorkerError, match='ended with 3 .*, as before') as failed:
        workers(tmp_path, 'print("what went wrong"); sys.exit(3)').run(case('x'))
    log = pathlib.Path(str(failed.value).split('(')[1].split(')')[0])
    assert 'what went wrong' in log.read_text() and 'a / x' in log.read_text()


def test_a_worker_without_a_result_fails(tmp_path: pathlib.Path):
    with pytest.raises(WorkerError, match='ended with 0 and no result'):
        workers(tmp_path, '').run(case('x'))


def test_a_result_of_before_is_not_taken_for_a_new_one(tmp_path: pathlib.Path):
    with pytest.raises(WorkerError, match='ended with 1'):
        workers(tmp_path, 'answer(); sys.exit(1)').run(case('x'))
    with pytest.raises(WorkerError, match='no result'):
        workers(tmp_path, '').run(case('x'))


def alive(pid: int) -> bool:
    try:  # an orphan that was killed may wait for its reaper
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_a_worker_that_hangs_is_killed_with_all_it_started(tmp_path: pathlib.Path):
    code = '''
child = subprocess.Popen(['sleep', '600'])
pathlib.Path('%s').write_text(str(child.pid))
time.sleep(600)''' % (tmp_path / 'pid')
    start = time.monotonic()
    with pytest.raises(WorkerError, match='took more than 3 s'):
        workers(tmp_path, code, timeout=3).run(case('x'))
    child = int((tmp_path / 'pid').read_text())
    while alive(child):
        assert time.monotonic() < start + 60
        time.sleep(0.02)


def test_failures_do_not_stop_the_others(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture):
    cases = [case(stmt) for stmt in ('one', 'bad', 'two')]
    outcome = runner.run_all(cases, workers(tmp_path, 'sys.exit(1) if args["stmt"] == "bad" else answer()'), jobs=2)
    assert [done.args.stmt for done, _ in outcome.results] == ['one', 'two']
    assert [(failed.args.stmt, 'ended with 1' in why) for failed, why in outcome.failures] == [('bad', True)]
    assert not outcome.interrupted
    said = capsys.readouterr().err
    assert '3/3' in said and 'left' in said and '10 instructions a call' in said


def test_ctrl_c_keeps_what_is_done(tmp_path: pathlib.Path):
    cases = [case(stmt) for stmt in ('quick', 'slow', 'never')]
    pool = workers(tmp_path, 'time.sleep(600) if args["stmt"] != "quick" else answer()', timeout=900)

    def interrupt():
        while not (tmp_path / 'a-slow-Python-eager-forward-1-threads.log').exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    start = time.monotonic()
    outcome = runner.run_all(cases, pool, jobs=1)
    thread.join()
    assert outcome.interrupted and time.monotonic() - start < 300
    assert [done.args.stmt for done, _ in outcome.results] == ['quick']
    assert not pool.running


def test_durations_are_readable():
    assert [runner.duration(seconds) for seconds in (3.4, 99, 180)] == ['3 s', '99 s', '3 min']


def test_requests_are_json_that_names_every_field(tmp_path: pathlib.Path):
    told = workers(tmp_path, 'answer(fields=sorted(fields))').run(case('x'))
    assert told['fields'] == ['args', 'number', 'repeats', 'seconds', 'timeout']
    assert json.dumps(told)
