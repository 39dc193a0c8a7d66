"""One job in its own worker: started, waited for, killed with all it started, and its log kept when it fails."""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
from typing import Any

from core.expand import Case

WORKER = pathlib.Path(__file__).resolve().parent.parent / 'worker' / 'main.py'


@dataclasses.dataclass(frozen=True)
class Measure:
    """How a worker measures; every field but the last is part of its request."""

    number: int = 100
    repeats: int = 5
    seconds: float = 0.2
    timeout: float = 900


class WorkerError(Exception):
    pass


class Workers:
    """The running processes, so that all can be stopped together."""

    def __init__(self, folder: pathlib.Path, measure: Measure,
                 command: tuple[str, ...] = (sys.executable, str(WORKER))):
        self.folder, self.measure, self.command = folder, measure, command
        self.running: set[subprocess.Popen] = set()
        self.lock = threading.Lock()
        self.stopped = False
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, case: Case) -> dict[str, Any]:
        """The worker's result. A worker that died is started once more; one that hangs is not."""
        try:
            return self.attempt(case)
        except ChildProcessError:
            pass
        try:
            return self.attempt(case)
        except ChildProcessError as error:
            raise WorkerError(f'{error}, as before') from error

    def attempt(self, case: Case) -> dict[str, Any]:
        name = re.sub(r'[^\w+]+', '-', case.name()).strip('-')
        request, result, log = (self.folder / f'{name}.{end}' for end in ('request.json', 'result.json', 'log'))
        fields = dataclasses.asdict(self.measure) | {'args': case.args.to_json()}
        request.write_text(json.dumps(fields))
        result.unlink(missing_ok=True)
        with open(log, 'w') as output:
            output.write(f'{case.name()}\n{case.args}\n')
            output.flush()
            status = self.wait(self.start((*self.command, str(request), str(result)), output), log)
        if status or not result.exists():
            raise ChildProcessError(f'the worker ended with {status} and no result ({log})')
        measured = json.loads(result.read_text())
        for file in (request, result, log):
            file.unlink()
        return measured

    def start(self, command: tuple[str, ...], output: Any) -> subprocess.Popen:
        with self.lock:
            if self.stopped:
                raise WorkerError('stopped')
            # In its own session, so that Ctrl-C reaches only this process, and its children are killed with it.
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       start_new_session=True)
            self.running.add(process)
            return process

    def wait(self, process: subprocess.Popen, log: pathlib.Path) -> int:
        try:
            status = process.wait(self.measure.timeout)
            if self.stopped:
                raise WorkerError('stopped')
            return status
        except subprocess.TimeoutExpired as error:
            raise WorkerError(f'the worker took more than {self.measure.timeout:g} s ({log})') from error
        finally:
            kill(process)
            with self.lock:
                self.running.discard(process)

    def stop(self):
        with self.lock:
            self.stopped = True
            for process in self.running:
                kill(process, reap=False)


def kill(process: subprocess.Popen, reap: bool = True):
    """Kills the process and its session; processes that have ended are ignored."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if reap:
        process.wait()
