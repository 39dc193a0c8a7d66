"""Models to serve, and a server of them."""

import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import torch

TOOL = os.environ['SR_TOOL']


class Ranking(torch.nn.Module):
    """Rows of 16 numbers and an id each; two results of as many rows."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(100, 8)
        self.layer = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))

    def forward(self, x, ids):
        scores = self.layer(torch.cat([x, self.table(ids)], 1))
        return torch.softmax(scores, 1), scores.argmax(1)


class Echo(torch.nn.Module):
    def forward(self, x):
        return x.clone()


class Counter(torch.nn.Module):
    """Adds up what a session has sent."""

    def __init__(self):
        super().__init__()
        self.register_buffer('sum', torch.zeros(3))

    def forward(self, x):
        self.sum += x
        return self.sum.clone()


class Slow(torch.nn.Module):
    """Takes about a millisecond a step."""

    def forward(self, x, steps: int = 1):
        y = torch.ones(160, 160)
        for _ in range(steps * 8):
            y = torch.tanh(y @ y * 0.001)
        return x + y.sum() * 0


class Mixed(torch.nn.Module):
    """Numbers among the arguments, one that may be left out, and results in a dict."""

    def forward(self, x, scale: float, shift: int = 2, flag: bool = False, y: torch.Tensor | None = None):
        out = x * scale + shift
        if y is not None:
            out = out + y
        if flag:
            out = -out
        return {'out': out, 'rows': torch.tensor(x.size(0))}


def write_models(folder):
    """Writes the files of the models, and returns those in memory by name."""
    torch.manual_seed(0)
    ranking = Ranking().eval()
    rows = torch.export.Dim('rows', min=1, max=512)
    program = torch.export.export(ranking, (torch.rand(3, 16), torch.arange(3)), dynamic_shapes=({0: rows}, {0: rows}))
    torch.export.save(program, folder / 'ranking.pt2')
    models = {'ranking': ranking}
    for name, module in (('echo', Echo()), ('counter', Counter()), ('slow', Slow()), ('mixed', Mixed())):
        torch.jit.script(module.eval()).save(folder / f'{name}.pt')
        models[name] = module
    return models


@dataclasses.dataclass
class Server:
    process: subprocess.Popen
    events: list
    ports: dict = dataclasses.field(default_factory=dict)

    @property
    def http(self):
        return f'127.0.0.1:{self.ports["http"]}'

    @property
    def grpc(self):
        return f'127.0.0.1:{self.ports["grpc"]}'

    def wait_for(self, event, seconds=60, **fields):
        """The first event of that name with those fields; fails if the server ends before."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in list(self.events):
                if line['event'] == event and fields.items() <= line.items():
                    return line
            assert self.process.poll() is None or event == 'ended', self.events
            time.sleep(0.01)
        raise AssertionError(f'no {event} {fields} among {self.events}')

    def resident_bytes(self):
        pages = int(pathlib.Path(f'/proc/{self.process.pid}/statm').read_text().split()[1])
        return pages * os.sysconf('SC_PAGE_SIZE')

    def cpu_seconds(self):
        fields = pathlib.Path(f'/proc/{self.process.pid}/stat').read_text().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(60)

    def request(self, method, path, body=None, headers=None, timeout=30):
        """Status, headers and the body as JSON, if it is that."""
        connection = http.client.HTTPConnection('127.0.0.1', self.ports['http'], timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, headers or {})
            response = connection.getresponse()
            text = response.read()
        is_json = response.headers.get('content-type') == 'application/json'
        return response.status, response.headers, json.loads(text) if is_json and text else text

    def infer(self, model, inputs, parameters=None, headers=None, **more):
        """POSTs tensors as JSON; returns the status and the body."""
        tensors = [{'name': name, 'shape': list(value.shape), 'datatype': DATATYPES[value.dtype], 'data': value.tolist()}
                   for name, value in inputs.items()]
        status, _, body = self.request('POST', f'/v2/models/{model}/infer',
                                       {'inputs': tensors, 'parameters': parameters or {}, **more}, headers)
        return status, body


DATATYPES = {torch.bool: 'BOOL', torch.uint8: 'UINT8', torch.uint16: 'UINT16', torch.uint32: 'UINT32', torch.uint64: 'UINT64',
             torch.int8: 'INT8', torch.int16: 'INT16', torch.int32: 'INT32', torch.int64: 'INT64', torch.float16: 'FP16',
             torch.float32: 'FP32', torch.float64: 'FP64', torch.bfloat16: 'BF16'}
DTYPES = {name: dtype for dtype, name in DATATYPES.items()}


def tensors(body):
    """The outputs of a JSON answer."""
    return {out['name']: torch.tensor(out['data'], dtype=DTYPES[out['datatype']]).reshape(out['shape'])
            for out in body['outputs']}


@contextlib.contextmanager
def serving(*arguments, wait='ready', http='0'):
    command = [TOOL, 'serve', '--http-port', http, '--grpc-port', '0', *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    server = Server(process, [])

    def read():
        for line in process.stderr:
            try:
                event = json.loads(line)
            except ValueError:
                event = {'event': 'text', 'message': line.strip()}
            server.events.append(event)
            if event['event'] == 'listening' and ':' in event['address']:
                server.ports.setdefault(event['protocol'].removesuffix('s'), event['address'].rpartition(':')[2])

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        if wait:
            server.wait_for(wait)
        yield server
    finally:
        server.stop()
        reader.join(10)
        process.stderr.close()
