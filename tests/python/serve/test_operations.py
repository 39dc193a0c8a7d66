"""Batches, sessions, deadlines, reloads and the end of the server."""

import concurrent.futures
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import numpy as np
import pytest
import torch
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

import served


def write_config(folder, file_name, **config):
    (folder / f'{file_name}.json').write_text(json.dumps(config))


def test_requests_are_joined_to_batches(folder, models, tmp_path):
    write_config(tmp_path, 'ranking', file=str(folder / 'ranking.pt2'), warmup=[['f32[1,16]', 'i64[1]:0..99']],
                 batching={'max_rows': 32, 'max_wait': 0.02})
    with served.serving('--models', tmp_path, '--threads', 4) as server:
        inputs = [(torch.rand(n % 3 + 1, 16), torch.randint(0, 100, (n % 3 + 1,))) for n in range(120)]

        def ask(pair):
            return server.infer('ranking', {'x': pair[0], 'ids': pair[1]})

        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            for (x, ids), (status, body) in zip(inputs, pool.map(ask, inputs)):
                assert status == 200, body
                scores, best = models['ranking'](x, ids)
                got = list(served.tensors(body).values())
                torch.testing.assert_close(got[0], scores)
                assert torch.equal(got[1], best)
        _, _, text = server.request('GET', '/metrics')
        lines = dict(line.rsplit(' ', 1) for line in text.decode().splitlines() if line.startswith('sr_batch_rows_'))
        label = '{model="ranking",version="1"}'
        rows, batches = float(lines['sr_batch_rows_sum' + label]), float(lines['sr_batch_rows_count' + label])
        assert rows == sum(len(ids) for _, ids in inputs) and batches < 120


def test_sessions(folder, tmp_path):
    write_config(tmp_path, 'counter', file=str(folder / 'counter.pt'), sessions={'max': 3, 'idle': 1})
    with served.serving('--models', tmp_path) as server:
        one = {'x': torch.ones(3)}

        def ask(**parameters):
            return server.infer('counter', one, parameters)

        assert ask()[0] == 400 and 'sequence_id' in ask()[1]['error']
        assert ask(sequence_id='a')[0] == 404
        for session in ('a', 'b', 7):
            assert served.tensors(ask(sequence_id=session, sequence_start=True)[1])['output_0'].tolist() == [1, 1, 1]
        assert ask(sequence_id='d', sequence_start=True)[0] == 429  # as many as there may be
        assert served.tensors(ask(sequence_id='a')[1])['output_0'].tolist() == [2, 2, 2]
        assert served.tensors(ask(sequence_id=7)[1])['output_0'].tolist() == [2, 2, 2]
        assert served.tensors(ask(sequence_id='a', sequence_end=True)[1])['output_0'].tolist() == [3, 3, 3]
        assert ask(sequence_id='a')[0] == 404
        assert served.tensors(ask(sequence_id='b', sequence_start=True)[1])['output_0'].tolist() == [1, 1, 1]  # begins anew
        client = tritonclient.grpc.InferenceServerClient(server.grpc)
        given = tritonclient.grpc.InferInput('x', [3], 'FP32')
        given.set_data_from_numpy(np.ones(3, np.float32))
        sums = [client.infer('counter', [given], sequence_id=99, sequence_start=i == 0, sequence_end=i == 3).as_numpy('output_0')[0]
                for i in range(4)]
        assert sums == [1, 2, 3, 4]
        deadline = time.monotonic() + 10
        while ask(sequence_id='b')[0] == 200:  # each use keeps it
            time.sleep(2.2)
            assert time.monotonic() < deadline


def test_deadlines(server):
    x = {'x': torch.zeros(1)}
    assert server.infer('slow', {**x, 'steps': torch.tensor(1)})[0] == 200
    long = {**x, 'steps': torch.tensor(2000)}
    begin = time.monotonic()
    status, body = server.infer('slow', long, headers={'grpc-timeout': '100m'})
    assert status == 504 and 'deadline' in body['error']
    status, body = server.infer('slow', long, parameters={'timeout': 100000})
    assert status == 504
    client = tritonclient.grpc.InferenceServerClient(server.grpc)
    given = [tritonclient.grpc.InferInput('x', [1], 'FP32'), tritonclient.grpc.InferInput('steps', [1], 'INT64')]
    given[0].set_data_from_numpy(np.zeros(1, np.float32))
    given[1].set_data_from_numpy(np.full(1, 2000))
    with pytest.raises(InferenceServerException, match='(?i)deadline'):
        client.infer('slow', given, client_timeout=0.1)
    assert time.monotonic() - begin < 5


def test_a_client_that_goes_away_cancels_its_request(folder):
    with served.serving(folder / 'slow.pt', '--threads', 1) as server:
        body = json.dumps({'inputs': [{'name': 'x', 'shape': [1], 'datatype': 'FP32', 'data': [0]},
                                      {'name': 'steps', 'shape': [], 'datatype': 'INT64', 'data': [100000]}]}).encode()
        with socket.create_connection(('127.0.0.1', server.ports['http'])) as gone:
            gone.sendall(b'POST /v2/models/slow/infer HTTP/1.1\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
            time.sleep(0.5)
            assert server.request('GET', '/v2/health/live')[0] == 200  # while the model runs
        end = time.monotonic() + 20
        while b'outcome="cancelled"} 1' not in server.request('GET', '/metrics')[2]:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert server.infer('slow', {'x': torch.zeros(1)})[0] == 200


def test_a_full_queue_is_429(folder, tmp_path):
    write_config(tmp_path, 'slow', file=str(folder / 'slow.pt'), batching={'max_waiting': 2, 'max_rows': 1})
    with served.serving('--models', tmp_path, '--threads', 2) as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
        asks = [pool.submit(server.infer, 'slow', {'x': torch.zeros(1, 1), 'steps': torch.tensor(200)}) for _ in range(8)]
        statuses = [ask.result()[0] for ask in asks]
        assert set(statuses) == {200, 429}


def test_the_end_loses_no_request(folder):
    with served.serving(folder / 'slow.pt', '--threads', 2) as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
        asks = [pool.submit(server.infer, 'slow', {'x': torch.ones(1), 'steps': torch.tensor(300)}) for _ in range(4)]
        client = tritonclient.grpc.InferenceServerClient(server.grpc)
        given = [tritonclient.grpc.InferInput('x', [1], 'FP32'), tritonclient.grpc.InferInput('steps', [1], 'INT64')]
        given[0].set_data_from_numpy(np.ones(1, np.float32))
        given[1].set_data_from_numpy(np.full(1, 300))
        by_grpc = pool.submit(client.infer, 'slow', given)
        while b'sr_active_requests 6' not in server.request('GET', '/metrics')[2]:  # the five, and this one
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        for ask in asks:
            status, body = ask.result()
            assert status == 200 and body['outputs'][0]['data'] == [1]
        assert by_grpc.result().as_numpy('output_0').tolist() == [1]
        assert server.process.wait(30) == 0
        assert server.wait_for('ended')


def test_a_new_file_is_loaded_beside_the_old_one(folder, models, tmp_path):
    class Constant(torch.nn.Module):
        def __init__(self, value: float):
            super().__init__()
            self.value = value

        def forward(self, x):
            return x * 0 + self.value

    def put(value):
        torch.jit.script(Constant(value)).save(tmp_path / 'new.pt')
        os.replace(tmp_path / 'new.pt', tmp_path / 'model.pt')

    put(1.0)
    write_config(tmp_path, 'model', file='model.pt', version='1', warmup=[['f32[2]']])
    with served.serving('--models', tmp_path, '--threads', 2) as server:
        seen, failed, ends = [], [], threading.Event()

        def ask_on():
            while not ends.is_set():
                status, body = server.infer('model', {'x': torch.zeros(2)})
                (seen if status == 200 else failed).append(body['outputs'][0]['data'][0] if status == 200 else body)

        threads = [threading.Thread(target=ask_on) for _ in range(3)]
        for thread in threads:
            thread.start()

        def wait_for(value):
            end = time.monotonic() + 20
            while not seen or seen[-1] != value:
                assert time.monotonic() < end, (value, server.events)
                time.sleep(0.01)

        try:
            wait_for(1)
            put(2.0)
            wait_for(2)
            put(3.0)
            server.process.send_signal(signal.SIGHUP)
            wait_for(3)
            (tmp_path / 'model.pt').write_bytes(b'no model')
            server.wait_for('refused')
            time.sleep(0.2)
            assert seen[-1] == 3
            put(4.0)
            write_config(tmp_path, 'model', file='model.pt', version='2')
            wait_for(4)
            assert server.request('GET', '/v2/models/model')[2]['versions'] == ['2']
            write_config(tmp_path, 'other', file=str(folder / 'echo.pt'))
            server.wait_for('loaded', model='other')
            assert server.infer('other', {'x': torch.zeros(1)})[0] == 200
            (tmp_path / 'other.json').unlink()
            server.wait_for('dropped', model='other')
            assert server.infer('other', {'x': torch.zeros(1)})[0] == 404
        finally:
            ends.set()
            for thread in threads:
                thread.join()
        assert not failed


def test_versions_side_by_side(folder, tmp_path):
    for version in ('9', '10'):
        write_config(tmp_path, f'v{version}', name='echo', version=version, file=str(folder / 'echo.pt'))
    with served.serving('--models', tmp_path) as server:
        assert server.request('GET', '/v2/models/echo')[2]['versions'] == ['9', '10']
        x = {'x': torch.ones(1)}
        assert server.infer('echo', x)[1]['model_version'] == '10'
        assert server.infer('echo/versions/9', x)[1]['model_version'] == '9'
        assert [each['version'] for each in server.request('POST', '/v2/repository/index')[2]] == ['9', '10']


def test_a_token(folder, tmp_path):
    (tmp_path / 'token').write_text('secret\n')
    with served.serving(folder / 'echo.pt', '--token-file', tmp_path / 'token') as server:
        x = {'x': torch.ones(1)}
        assert server.request('GET', '/v2/health/ready')[0] == 200  # probes need none
        for header in ({}, {'Authorization': 'secret'}, {'Authorization': 'Bearer secre'}, {'Authorization': 'Bearer secrets'}):
            status, body = server.infer('echo', x, headers=header)
            assert status == 401 and 'Bearer' in body['error']
        assert server.infer('echo', x, headers={'Authorization': 'Bearer secret'})[0] == 200
        client = tritonclient.grpc.InferenceServerClient(server.grpc)
        given = tritonclient.grpc.InferInput('x', [1], 'FP32')
        given.set_data_from_numpy(np.ones(1, np.float32))
        with pytest.raises(InferenceServerException, match='Bearer'):
            client.infer('echo', [given])
        assert client.infer('echo', [given], headers={'authorization': 'Bearer secret'}).as_numpy('output_0') == 1


def test_tls(folder, tmp_path):
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', tmp_path / 'key.pem', '-out', tmp_path / 'cert.pem',
                    '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
                   check=True, capture_output=True)
    with served.serving(folder / 'echo.pt', '--certificate', tmp_path / 'cert.pem', '--key', tmp_path / 'key.pem') as server:
        body = '{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [5]}]}'
        done = subprocess.run(['curl', '-s', '--fail', '--cacert', tmp_path / 'cert.pem', '-d', body,
                               f'https://127.0.0.1:{server.ports["http"]}/v2/models/echo/infer'], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)['outputs'][0]['data'] == [5]
        client = tritonclient.grpc.InferenceServerClient(f'localhost:{server.ports["grpc"]}', ssl=True,
                                                         root_certificates=str(tmp_path / 'cert.pem'))
        assert client.is_server_live()
        with socket.create_connection(('127.0.0.1', int(server.ports['http'])), 5) as plain:
            plain.sendall(b'GET /v2/health/live HTTP/1.1\r\n\r\n')
            plain.settimeout(5)
            assert b'HTTP/1.1 200' not in plain.recv(1000)
        context = ssl.create_default_context(cafile=str(tmp_path / 'cert.pem'))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with socket.create_connection(('127.0.0.1', int(server.ports['http'])), 5) as connection:
            with context.wrap_socket(connection, server_hostname='127.0.0.1') as secure:
                assert secure.version() == 'TLSv1.2'


def test_a_unix_socket(folder, tmp_path):
    path = tmp_path / 'sr.sock'
    for _ in range(2):  # the second server replaces the socket that the first one left
        with served.serving(folder / 'echo.pt', '--unix', path, http='-1') as server:
            done = subprocess.run(['curl', '-s', '--fail', '--unix-socket', path, 'http://localhost/v2/models/echo/ready'], check=True)
            assert done.returncode == 0
            server.process.kill()


# Polls for 300 us after each event, or, as several threads, not at all in spite of the whole second.
@pytest.mark.parametrize('threads, spin', [('1', '300'), ('2', '1000000')])
def test_a_thread_that_polls(folder, models, threads, spin):
    x, ids = torch.rand(3, 16), torch.arange(3)
    with served.serving(f'ranking={folder / "ranking.pt2"}', '--spin', spin, '--threads', threads) as server:
        for _ in range(50):
            status, body = server.infer('ranking', {'x': x, 'ids': ids})
            assert status == 200
            torch.testing.assert_close(served.tensors(body)['output_0'], models['ranking'](x, ids)[0])
        time.sleep(0.1)
        before = server.cpu_seconds()
        time.sleep(1)
        assert server.cpu_seconds() - before < 0.5  # without requests, it sleeps
        assert server.stop() == 0


def test_slow_clients_and_too_many(folder):
    with served.serving(folder / 'echo.pt', '--idle-timeout', '0.5', '--max-connections', '20', '--max-body', '4096') as server:
        address = ('127.0.0.1', int(server.ports['http']))
        with socket.create_connection(address) as slow:
            slow.sendall(b'POST /v2/models/echo/infer HTTP/1.1\r\nContent-')
            slow.settimeout(5)
            assert slow.recv(100) == b''  # closed
        many = [socket.create_connection(address) for _ in range(40)]
        closed = 0
        for each in many:
            each.settimeout(3)
            closed += each.recv(1) == b''
            each.close()
        assert closed == 40
        assert server.request('GET', '/v2/health/live')[0] == 200
        assert server.infer('echo', {'x': torch.zeros(5000)})[0] == 413


@pytest.mark.parametrize('arguments, says', [
    ((), 'nothing to serve'),
    (('/nowhere.pt',), '/nowhere.pt'),
    (('a=',), 'has no file'),
    (('--models', '/nowhere'), '/nowhere'),
    (('ECHO', 'ECHO'), 'have the version'),
    (('ECHO', '--certificate', '/x.pem'), '--key'),
    (('ECHO', '--token-file', '/nowhere'), '/nowhere'),
])
def test_what_cannot_be_served(folder, models, arguments, says):
    given = [str(folder / 'echo.pt') if each == 'ECHO' else each for each in arguments]
    done = subprocess.run([served.TOOL, 'serve', '--http-port', '0', '--grpc-port', '0', *given], capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2) and says in done.stderr, done.stderr


@pytest.mark.parametrize('config, says', [
    ({}, "no 'file'"),
    ({'file': 'ECHO', 'files': 1}, "unknown key 'files'"),
    ({'file': 'ECHO', 'batching': {'max_rows': 'x'}}, 'max_rows'),
    ({'file': 'ECHO', 'batching': {'max_wait': -1}}, 'max_wait'),
    ({'file': 'ECHO', 'warmup': [['f33[1]']]}, 'f33'),
    ({'file': 'ECHO', 'warmup': [['f32[1]', 'f32[1]']]}, '2 arguments'),
    ({'file': 'ECHO', 'sessions': {'max': -1}}, 'negative max'),
])
def test_wrong_configurations(folder, models, tmp_path, config, says):
    config = {key: str(folder / 'echo.pt') if value == 'ECHO' else value for key, value in config.items()}
    write_config(tmp_path, 'model', **config)
    done = subprocess.run([served.TOOL, 'serve', '--http-port', '0', '--grpc-port', '0', '--models', tmp_path], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode in (1, 2) and says in done.stderr, done.stderr
    assert shutil.which('curl')


def test_a_port_in_use(folder, server):
    for flag, port in (('--http-port', server.ports['http']), ('--grpc-port', server.ports['grpc'])):
        other = '--grpc-port' if flag == '--http-port' else '--http-port'
        done = subprocess.run([served.TOOL, 'serve', folder / 'echo.pt', flag, port, other, '0'], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and 'use' in done.stderr, done.stderr
