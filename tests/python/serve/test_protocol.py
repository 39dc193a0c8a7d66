"""What the server says to requests that are wrong, and that it goes on after them."""

import json
import random
import socket
import struct
import threading

import pytest
import torch

import served

RIGHT = {'inputs': [{'name': 'x', 'shape': [2], 'datatype': 'FP32', 'data': [1, 2]}]}


def infer(server, body, **headers):
    status, _, answer = server.request('POST', '/v2/models/echo/infer', body, {k.replace('_', '-'): v for k, v in headers.items()})
    return status, answer


def changed(**changes):
    return {'inputs': [{**RIGHT['inputs'][0], **changes}]}


def without(key):
    return {'inputs': [{name: value for name, value in RIGHT['inputs'][0].items() if name != key}]}


@pytest.mark.parametrize('body, says', [
    ('', 'no JSON'),
    ('{', 'no JSON'),
    ('[1, 2]', 'no inputs'),
    ('{}', 'no inputs'),
    ({'inputs': []}, 'no inputs'),
    ({'inputs': {}}, 'no inputs'),
    ({'inputs': [{}]}, 'no name'),
    ({'inputs[': {'name': 'x'}}, 'no inputs'),
    ({'inputs[/name': 'x'}, 'no inputs'),
    (without('shape'), 'no shape'),
    (without('datatype'), "datatype ''"),
    (without('data'), 'neither data nor'),
    (changed(datatype='FP33'), "'FP33'"),
    (changed(datatype='BYTES', data=['a', 'b']), 'strings'),
    (changed(shape=[3]), 'has 2 elements, but its shape needs 3'),
    (changed(shape=[-2]), 'not negative'),
    (changed(shape=[2.0]), 'integers only'),
    (changed(shape=[1 << 62, 1 << 62]), '2^45'),
    (changed(datatype='INT32', data=[1, 2.5]), 'real numbers'),
    (changed(datatype='INT8', data=[1, 128]), 'the number 128, which INT8 cannot hold'),
    (changed(datatype='UINT8', data=[-1, 1]), 'cannot hold'),
    (changed(datatype='INT64', data=[1 << 63, 1]), 'the number 9223372036854775808'),
    (changed(data=[{}, 1]), 'an object'),
    (changed(parameters={'binary_data_size': 8}), 'both data and binary_data_size'),
    ({'inputs': [without('data')['inputs'][0] | {'parameters': {'binary_data_size': 8}}]}, '0 bytes are left'),
    ({'inputs': RIGHT['inputs'] * 2}, 'given twice'),
    ({**RIGHT, 'outputs': [{'name': 'z'}]}, "no output 'z'"),
    ('{"inputs": ' + '[' * 100000, 'deeper than 64'),
    ('{"a":' * 100, 'deeper than 64'),
    ('\x00\xff', 'no JSON'),
])
def test_wrong_bodies(server, body, says):
    status, answer = infer(server, body)
    assert status == 400 and says in answer['error'], answer
    assert infer(server, RIGHT)[0] == 200


@pytest.mark.parametrize('data, datatype, value', [
    ([[1.5], [2]], 'FP32', [1.5, 2.0]),
    ([True, False], 'BOOL', [True, False]),
    ([1, 0], 'BOOL', [True, False]),
    ([None, 1], 'FP64', [float('nan'), 1.0]),
    ([1, 1 << 64 - 1], 'UINT64', [1, 1 << 63]),
    ([0.1, 1e300], 'FP64', [0.1, 1e300]),
    ([0.1, -0.0], 'FP32', [0.1, -0.0]),
])
def test_numbers_of_json(server, data, datatype, value):
    status, answer = infer(server, changed(data=data, datatype=datatype))
    assert status == 200
    got = served.tensors({'outputs': [{**out, 'data': [float('nan') if x is None else x for x in out['data']]} for out in answer['outputs']]})
    torch.testing.assert_close(got['output_0'], torch.tensor(value, dtype=served.DTYPES[datatype]), equal_nan=True, rtol=0, atol=0)


def test_numbers_among_arguments(server, models):
    x, y = torch.rand(3, 2), torch.rand(3, 2)
    given = {'x': x, 'scale': torch.tensor(2.5, dtype=torch.float64)}
    for more, direct in (({}, models['mixed'](x, 2.5)),
                         ({'flag': torch.tensor([True]), 'shift': torch.tensor([7])}, models['mixed'](x, 2.5, 7, True)),
                         ({'y': y}, models['mixed'](x, 2.5, y=y))):
        status, body = server.infer('mixed', {**given, **more})
        out = served.tensors(body)
        assert status == 200 and torch.equal(out['out'], direct['out']) and torch.equal(out['rows'], direct['rows'])
    status, body = server.infer('mixed', {'x': x, 'scale': torch.rand(2)})
    assert status == 400 and 'one element' in body['error']
    status, body = server.infer('mixed', {**given, 'shift': torch.tensor([1.5])})
    assert status == 400 and 'integer' in body['error']


@pytest.mark.parametrize('method, path, status, says', [
    ('GET', '/', 404, '/v2/models/NAME/infer'),
    ('GET', '/v3', 404, ''),
    ('GET', '/v2/models', 404, ''),
    ('GET', '/v2/models/nothing', 404, "no model 'nothing'"),
    ('GET', '/v2/models/echo/versions/9', 404, "no version '9'"),
    ('GET', '/v2/models/echo/versions/1/ready', 200, ''),
    ('GET', '/v2/models/%65cho', 200, ''),
    ('GET', '/v2/models/%zz', 400, 'hexadecimal'),
    ('GET', '/v2/models/echo/infer', 405, 'POST'),
    ('DELETE', '/v2/health/live', 405, 'GET'),
    ('HEAD', '/v2/health/live', 200, ''),
    ('POST', '/v2/models/echo/versions/1/infer', 400, 'no JSON'),
    ('POST', '/v2/models/echo/infer/more', 404, ''),
    ('POST', '/v2/repository/index', 200, ''),
])
def test_paths(server, method, path, status, says):
    got, headers, body = server.request(method, path)
    assert got == status, body
    if says:
        assert says in body['error']
    if got == 405:
        assert headers['Allow'] == says


def test_health_says_so_in_its_body(server):
    """Which KServe's client reads, while others look at the status only."""
    assert server.request('GET', '/v2/health/live')[2] == {'live': True}
    assert server.request('GET', '/v2/health/ready')[2] == {'ready': True}
    assert server.request('GET', '/v2/models/echo/ready')[2] == {'name': 'echo', 'ready': True}


def test_headers_that_are_wrong(server):
    assert infer(server, RIGHT, Inference_Header_Content_Length='99999')[0] == 400
    assert infer(server, RIGHT, Inference_Header_Content_Length='x')[0] == 400
    assert 'Content-Encoding' in infer(server, RIGHT, Content_Encoding='gzip')[1]['error']
    assert 'grpc-timeout' in infer(server, RIGHT, grpc_timeout='5')[1]['error']
    assert infer(server, RIGHT, grpc_timeout='5S')[0] == 200
    status, answer = infer(server, json.dumps(RIGHT) + 'xx', Inference_Header_Content_Length=str(len(json.dumps(RIGHT))))
    assert status == 400 and '2 bytes that belong to no input' in answer['error']
    status, answer = infer(server, b'abcd', Inference_Header_Content_Length='0')
    assert status == 400 and 'no JSON' in answer['error']


def test_heads_that_repeat(server):
    head = json.dumps({'inputs': [{'name': 'x', 'shape': [2], 'datatype': 'FP32', 'parameters': {'binary_data_size': 8}}]}).encode()
    for i in range(40):
        own = head if i % 3 else head.replace(b'[2]', b'[2' + b' ' * i + b']')
        status, answer = infer(server, own + struct.pack('<2f', i, -i), Inference_Header_Content_Length=str(len(own)))
        assert status == 200 and answer['outputs'][0]['data'] == [i, -i]
        assert infer(server, own + bytes(4), Inference_Header_Content_Length=str(len(own)))[0] == 400


def raw(server, data, half_close=True):
    """What comes back for these bytes on a connection, until the server closes it."""
    with socket.create_connection(('127.0.0.1', server.ports['http']), 10) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        answer = b''
        while part := connection.recv(65536):
            answer += part
        return answer


def test_what_is_no_http(server):
    assert raw(server, b'nonsense\r\n\r\n').startswith(b'HTTP/1.1 400')
    assert raw(server, b'GET /v2 HTTP/1.1\r\n' + b'A: b\r\n' * 5000 + b'\r\n').startswith(b'HTTP/1.1 431')
    assert raw(server, b'POST /v2/models/echo/infer HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n').startswith(b'HTTP/1.1 413')
    assert raw(server, b'POST /v2/models/echo/infer HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc') == b''  # the client went away
    chunked = json.dumps(RIGHT).encode()
    answer = raw(server, b'POST /v2/models/echo/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n'
                 + b'%x\r\n' % len(chunked) + chunked + b'\r\n0\r\n\r\n')
    assert answer.startswith(b'HTTP/1.1 200')
    answer = raw(server, b'GET /v2/health/live HTTP/1.1\r\n\r\nGET /v2/health/live HTTP/1.1\r\nConnection: close\r\n\r\n')
    assert answer.count(b'HTTP/1.1 200') == 2  # a client may send the next request before the answer


@pytest.mark.parametrize('is_chunked', [False, True])
def test_bodies_that_come_in_pieces(server, is_chunked):
    """Several requests on one connection, whose bodies are smaller and larger than the server's buffers."""
    dice = random.Random(7)
    sent, values = b'', []
    for bytes_of_data in (4, 4000, 65536, 0, 600000, 8):
        x = torch.rand(bytes_of_data // 4)
        values.append(x)
        head = json.dumps({'inputs': [{'name': 'x', 'shape': [len(x)], 'datatype': 'FP32', 'parameters': {'binary_data_size': x.nbytes}}],
                           'parameters': {'binary_data_output': True}}).encode()
        body = head + x.numpy().tobytes()
        sent += b'POST /v2/models/echo/infer HTTP/1.1\r\nInference-Header-Content-Length: %d\r\n' % len(head)
        if bytes_of_data == 8:
            sent += b'Connection: close\r\n'
        if is_chunked:
            size = dice.choice([100, 5000, 70000])
            parts = [body[i:i + size] for i in range(0, len(body), size)]
            sent += b'Transfer-Encoding: chunked\r\n\r\n' + b''.join(b'%x\r\n%s\r\n' % (len(part), part) for part in parts) + b'0\r\n\r\n'
        else:
            sent += b'Content-Length: %d\r\n\r\n' % len(body) + body
    with socket.create_connection(('127.0.0.1', server.ports['http']), 10) as connection:
        def send():
            at = 0
            while at < len(sent):
                size = dice.choice([1, 700, 5000, 200000])
                connection.sendall(sent[at:at + size])
                at += size

        sender = threading.Thread(target=send)
        sender.start()
        stream = connection.makefile('rb')
        for x in values:
            assert stream.readline().startswith(b'HTTP/1.1 200')
            headers = dict(line.decode().strip().split(': ') for line in iter(stream.readline, b'\r\n'))
            body = stream.read(int(headers['Content-Length']))
            assert body[int(headers.get('Inference-Header-Content-Length', len(body))):] == x.numpy().tobytes()
        sender.join()


def test_expect_continue(server):
    body = json.dumps(RIGHT).encode()
    with socket.create_connection(('127.0.0.1', server.ports['http']), 10) as connection:
        connection.sendall(b'POST /v2/models/echo/infer HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: %d\r\n\r\n'
                           % len(body))
        assert connection.recv(100).startswith(b'HTTP/1.1 100')
        connection.sendall(body)
        assert connection.recv(1000).startswith(b'HTTP/1.1 200')


def test_random_bytes_on_both_ports(server, models):
    dice = random.Random(5)
    pieces = [b'POST /v2/models/echo/infer HTTP/1.1\r\n', b'Content-Length: 5\r\n', b'\r\n', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
              json.dumps(RIGHT).encode(), b'Transfer-Encoding: chunked\r\n', b'\xff' * 9]
    failed = []

    def answers_are_right():
        for _ in range(100):
            status, body = server.infer('echo', {'x': torch.tensor([1.5])})
            failed.extend([] if status == 200 and body['outputs'][0]['data'] == [1.5] else [body])

    neighbour = threading.Thread(target=answers_are_right)
    neighbour.start()
    for port in (server.ports['http'], server.ports['grpc']):
        for _ in range(150):
            data = b''.join(dice.choice(pieces) if dice.random() < 0.7 else dice.randbytes(dice.randrange(60)) for _ in range(dice.randrange(1, 6)))
            with socket.create_connection(('127.0.0.1', port), 10) as connection:
                connection.settimeout(5)
                try:
                    connection.sendall(data)
                    if dice.random() < 0.5:  # a reset instead of an end
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                    else:
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65536):
                            pass
                except OSError:
                    pass
    neighbour.join()
    assert not failed and server.process.poll() is None
    status, body = server.infer('ranking', {'x': torch.zeros(1, 16), 'ids': torch.zeros(1, dtype=torch.int64)})
    assert status == 200


def test_mutated_requests(server):
    dice = random.Random(6)
    text = json.dumps({'id': 'a', 'parameters': {'binary_data_output': True}, 'outputs': [{'name': 'output_0'}], **RIGHT}).encode()
    for _ in range(1500):
        body = bytearray(text)
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(body))
            how = dice.randrange(3)
            if how == 0:
                body[at] = dice.randrange(256)
            elif how == 1:
                del body[at:at + dice.randrange(1, 20)]
            else:
                body[at:at] = body[dice.randrange(len(body)):][:dice.randrange(1, 20)]
        status, _ = infer(server, bytes(body))
        assert status in (200, 400, 404), (status, bytes(body))
    assert server.process.poll() is None


def test_metrics(server):
    server.infer('echo', {'x': torch.tensor([1.0])})
    server.infer('echo', {'z': torch.tensor([1.0])})
    status, headers, text = server.request('GET', '/metrics')
    assert status == 200 and headers['content-type'].startswith('text/plain')
    from prometheus_client.parser import text_string_to_metric_families
    families = {family.name: family for family in text_string_to_metric_families(text.decode())}
    counts = {(s.labels['model'], s.labels['outcome']): s.value for s in families['sr_requests'].samples}
    assert counts['echo', 'ok'] >= 1 and counts['echo', 'invalid'] >= 1
    echo = [s for s in families['sr_request_seconds'].samples if s.labels['model'] == 'echo']
    assert [s.value for s in echo if s.name.endswith('_count')] == [counts['echo', 'ok']]
    buckets = [s.value for s in echo if s.name.endswith('_bucket')]
    assert buckets == sorted(buckets) and buckets[-1] == counts['echo', 'ok']
