"""Workers that answer, crash or hang: played by small programs in place of the real one."""

import sys
import textwrap

from pool import check_all


ANSWER = "\nsay(at='work')\nsay(record={'entry': name, 'pid': os.getpid()})\n"


def play(entries: list[str], body: str = '', timeout: float = 60, jobs: int = 1) -> dict[str, dict]:
    program = 'import json, os, signal, sys, time\ndef say(**m):\n    print(json.dumps(m), flush=True)\n' \
              'for line in sys.stdin:\n    request = json.loads(line)\n    name = request["entry"]\n' \
              + textwrap.indent(body + ANSWER, '    ')
    records = list(check_all(entries, (sys.executable, '-c', program), jobs, timeout))
    assert sorted(record['entry'] for record in records) == sorted(entries)
    return {record['entry']: record for record in records}


def test_one_worker_answers_for_all():
    records = play(['a', 'b', 'c'])
    assert len({record['pid'] for record in records.values()}) == 1


def test_a_crash_costs_its_entry_alone_and_says_where():
    records = play(['a', 'b', 'c'], "say(at='graph 7')\nif name == 'b': os.kill(os.getpid(), signal.SIGSEGV)")
    assert records['b'] == {'entry': 'b', 'failed': 'the worker ended with SIGSEGV, at graph 7'}
    assert 'pid' in records['a'] and 'pid' in records['c']


def test_a_worker_that_hangs_is_ended():
    records = play(['a', 'b'], "say(at='graph 9')\nif name == 'a': time.sleep(600)", timeout=1)
    assert records['a']['failed'] == 'took more than 1 s, at graph 9'
    assert 'pid' in records['b']


def test_a_worker_that_stops_or_fails_is_told():
    body = "if name == 'a': sys.exit(3)\nif name == 'b': say(failed='KeyError: b'); sys.exit(1)"
    records = play(['a', 'b', 'c'], body)
    assert records['a']['failed'] == 'the worker ended with status 3, at its start'
    assert records['b']['failed'] == 'KeyError: b, at its start'
    assert 'pid' in records['c']


def test_two_workers_share_the_entries():
    records = play(list('abcdef'), "time.sleep(0.2)", jobs=2)
    assert len({record['pid'] for record in records.values()}) == 2


def test_what_libtorch_does_not_survive_is_left_out_and_told():
    body = """
say(at='traced: the interpreter and eager' if name == 'a' else 'traced: linear scan')
if not request['own_samples']: os.kill(os.getpid(), signal.SIGSEGV)
"""
    records = play(['a', 'b'], body)
    assert records['a']['crashed'] == 'the worker ended with SIGSEGV, at traced: the interpreter and eager'
    assert 'pid' in records['a'] and 'failed' not in records['a']
    assert records['b']['failed'] == 'the worker ended with SIGSEGV, at traced: linear scan'
