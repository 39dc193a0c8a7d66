"""How many processors a process may use."""

import os
import subprocess
import sys

import sr


def test_no_more_than_the_affinity_mask():
    assert 1 <= sr.processors() <= len(os.sched_getaffinity(0))
    assert sr.processors(refresh=True) == sr.processors()


def test_the_affinity_mask_of_the_thread_counts():
    one = min(os.sched_getaffinity(0))
    code = f'import os, sr; os.sched_setaffinity(0, {{{one}}}); print(sr.processors())'
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout == '1\n'
