"""The memory of workers, as bench/calls/workers.py measures it."""

import pathlib
import re
import subprocess
import sys

from disks import has_disk

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_what_workers_hold_for_themselves():
    text = subprocess.run([sys.executable, ROOT / 'bench/calls/workers.py', '--width', '1024', '--rounds', '1'],
                          check=True, capture_output=True, text=True, timeout=300).stdout
    weights = int(re.search(r'A model of (\d+) MiB', text)[1])
    spawned, kept, mapped, loaded, called, thread = (
        int(number) for number in re.findall(r'\| (-?\d+) \|$', text, re.M))
    slack = weights // 4
    assert weights == 24
    assert spawned < (weights if has_disk() else 2 * weights) + slack  # packed
    assert kept > 2 * weights - slack  # as they were saved, and packed
    assert mapped < weights + slack  # packed
    assert loaded < weights + slack  # packed by the child
    assert called < slack
    assert thread < slack
