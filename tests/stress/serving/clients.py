"""Clients of `sr serve`: one checks its answers, one disconnects early, and two send mutated requests."""

import collections
import contextlib
import random
import socket
import struct
import time

import numpy as np

import mutants

KEEP = 16  # requests on the way at a time


class Report:
    """What a client saw: numbers by name, and sentences about what is wrong."""

    def __init__(self):
        self.counts, self.wrong = collections.Counter(), []


def http_answers(connection, count):
    """Statuses and bodies of the next `count` answers."""
    data, answers = b'', []
    while len(answers) < count:
        head, found, rest = data.partition(mutants.HEAD_END)
        if found:
            fields = dict(line.lower().split(b': ', 1) for line in head.split(b'\r\n')[1:])
            length = int(fields[b'content-length'])
            if len(rest) >= length:
                answers.append((int(head[9:12]), int(fields.get(b'inference-header-content-length', length)), rest[:length]))
                data = rest[length:]
                continue
        part = connection.recv(1 << 20)
        if not part:
            raise ConnectionError('the server closed the connection')
        data += part
    return answers


def right(report, port, until, expected, seed):
    """Sends right requests in bursts; `expected` are pairs of a request of the model `ranking` and its two results."""
    dice = random.Random(seed)
    with socket.create_connection(('127.0.0.1', port), 60) as connection:
        while time.monotonic() < until:
            chosen = [dice.choice(expected) for _ in range(KEEP)]
            connection.sendall(b''.join(request for request, _ in chosen))
            for (_, results), (status, json_bytes, body) in zip(chosen, http_answers(connection, KEEP)):
                scores, best = results
                report.counts[status] += 1
                if status == 429:
                    continue
                if status != 200:
                    report.wrong.append(f'a right request was answered by {status}: {body[:200]}')
                    continue
                got = np.frombuffer(body, np.float32, scores.size, json_bytes).reshape(scores.shape)
                got_best = np.frombuffer(body, np.int64, best.size, json_bytes + got.nbytes)
                if not np.allclose(got, scores, atol=1e-5) or (got_best != best).any():
                    report.wrong.append('an answer is wrong')


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


def breaking_off(report, port, grpc_port, until, seed):
    """Closes or resets each connection in the middle of a request, before the answer or in the middle of the answer."""
    dice = random.Random(seed)
    while time.monotonic() < until:
        request = mutants.right_http(dice)
        how = dice.randrange(4)
        with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port if how else grpc_port), 10) as connection:
            connection.sendall(request[:dice.randrange(len(request))] if how < 2 else request)
            if how == 3:
                connection.recv(dice.randrange(1, 50))
            if dice.random() < 0.5:
                reset(connection)
        report.counts['broken off'] += 1
        time.sleep(0.0005)


def http_mutants(report, port, until, count, seed):
    """Mutants of bodies on one connection, and of whole requests on a connection each."""
    dice = random.Random(seed)
    connection = None
    for _ in range(count):
        if time.monotonic() > until:
            break
        request = mutants.right_http(dice)
        if dice.random() < 0.5:
            connection = connection or socket.create_connection(('127.0.0.1', port), 60)
            data = mutants.body_mutant(dice, request)
            if b'chunked' not in request:
                connection.sendall(data)
                try:
                    note(report, *http_answers(connection, 1)[0], data)
                except ConnectionError as error:
                    report.wrong.append(f'{error} after {data[:500]!r}')
                    connection = None
                continue
        else:
            data = mutants.mutant(dice, request)
        with contextlib.suppress(ConnectionResetError, BrokenPipeError), \
                socket.create_connection(('127.0.0.1', port), 60) as single:
            single.sendall(data)
            single.shutdown(socket.SHUT_WR)
            answer = b''
            while part := single.recv(1 << 16):
                answer += part
            if answer:
                note(report, int(answer[9:12]), 0, answer.partition(mutants.HEAD_END)[2], data)
            else:
                report.counts['unfinished'] += 1


def note(report, status, _json_bytes, body, data):
    report.counts[status] += 1
    # The server answers 499 to a client that has closed its sending side, because it cannot tell that client from one that
    # disconnected. It answers 500 if the model raises.
    if status not in (200, 400, 404, 405, 413, 429, 431, 499, 500, 504):
        report.wrong.append(f'the status {status} with {body[:200]!r} for {data[:500]!r}')


def grpc_mutants(report, port, until, count, seed):
    import grpc
    from tritonclient.grpc import service_pb2

    dice = random.Random(seed)
    with grpc.insecure_channel(f'127.0.0.1:{port}') as channel:
        def method(kind, name):
            return kind(f'/inference.GRPCInferenceService/{name}', request_serializer=bytes, response_deserializer=bytes)

        unary, stream = method(channel.unary_unary, 'ModelInfer'), method(channel.stream_stream, 'ModelStreamInfer')
        others = [method(channel.unary_unary, name) for name in ('ModelMetadata', 'ModelReady', 'RepositoryIndex', 'ServerReady')]
        for i in range(count):
            if time.monotonic() > until:
                break
            data = mutants.grpc_mutant(dice, mutants.right_grpc(dice, service_pb2))
            try:
                if i % 10 == 0:
                    for _ in stream(iter([data, data]), timeout=60):
                        report.counts['streamed'] += 1
                elif i % 10 == 1:
                    dice.choice(others)(data, timeout=60)
                else:
                    unary(data, timeout=60)
                code = 'OK'
            except grpc.RpcError as error:
                code = error.code().name
                if code in ('UNAVAILABLE', 'UNKNOWN'):
                    report.wrong.append(f'{code} {error.details()} for {data[:500]!r}')
            report.counts[code] += 1
