"""Workers that are given one entry after another. One that crashes or hangs costs its entry, and no other."""

import concurrent.futures
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

IN_LIBTORCH = 'the interpreter and eager'  # the note of a worker that runs nothing of ours


class Worker:
    """Our own process session, started again after it ended."""

    def __init__(self, command: tuple[str, ...], timeout: float):
        self.command, self.timeout = command, timeout
        self.process: subprocess.Popen | None = None

    def check(self, entry: str) -> dict[str, Any]:
        """The entry's record; one with the key `failed` when there is none. Where LibTorch itself does not survive
        inputs that are no samples of the entry, it is checked without them, and `crashed` says so."""
        record = self.attempt(entry, own_samples=False)
        if not record.get('failed', '').endswith(IN_LIBTORCH):
            return record
        return self.attempt(entry, own_samples=True) | {'crashed': record['failed']}

    def attempt(self, entry: str, own_samples: bool) -> dict[str, Any]:
        self.start()
        late = threading.Event()
        watchdog = threading.Timer(self.timeout, lambda: (late.set(), self.kill()))
        watchdog.start()
        at = 'its start'
        try:
            self.process.stdin.write(json.dumps({'entry': entry, 'own_samples': own_samples}) + '\n')
            self.process.stdin.flush()
            for line in self.process.stdout:
                message = json.loads(line)
                if 'record' in message:
                    return message['record']
                if 'failed' in message:
                    return self.failed(entry, f'{message["failed"]}, at {at}')
                at = message['at']
        except (BrokenPipeError, json.JSONDecodeError):
            pass
        finally:
            watchdog.cancel()
        if late.is_set():
            return self.failed(entry, f'took more than {self.timeout:g} s, at {at}')
        status = self.process.wait()
        how = signal.Signals(-status).name if status < 0 else f'status {status}'
        return self.failed(entry, f'the worker ended with {how}, at {at}')

    def failed(self, entry: str, why: str) -> dict[str, Any]:
        self.close()
        return {'entry': entry, 'failed': why}

    def start(self):
        if self.process is not None and self.process.poll() is None:
            return
        self.close()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def close(self):
        if self.process is None:
            return
        self.kill()
        self.process.wait()
        for end in (self.process.stdin, self.process.stdout):
            try:
                end.close()
            except BrokenPipeError:
                pass
        self.process = None


def check_all(entries: list[str], command: tuple[str, ...], jobs: int, timeout: float) -> Iterator[dict[str, Any]]:
    """Records as they come."""
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    workers = [Worker(command, timeout) for _ in range(jobs)]
    for worker in workers:
        idle.put(worker)

    def one(entry: str) -> dict[str, Any]:
        worker = idle.get()
        try:
            return worker.check(entry)
        finally:
            idle.put(worker)

    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        for future in concurrent.futures.as_completed([pool.submit(one, entry) for entry in entries]):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.close()
