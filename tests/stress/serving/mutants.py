"""Builds requests as bytes: valid ones, and mutants of them."""

import json
import struct

HEAD_END = b'\r\n\r\n'
CODES = {'FP32': 'f', 'INT64': 'q'}  # of struct


def numbers_in(datatype, data):
    return [number for number, in struct.iter_unpack(f'<{CODES[datatype]}', data)]


def infer_body(inputs, **more):
    """JSON and the tensors' bytes behind it, and how many bytes of it are JSON. `inputs` are names, datatypes, shapes and bytes."""
    described = [{'name': name, 'datatype': datatype, 'shape': shape, 'parameters': {'binary_data_size': len(data)}}
                 for name, datatype, shape, data in inputs]
    head = json.dumps({'inputs': described, **more}).encode()
    return head + b''.join(data for *_, data in inputs), len(head)


def http_post(model, body, json_bytes=0, more=''):
    head = f'POST /v2/models/{model}/infer HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{more}Content-Length: {len(body)}\r\n'
    if json_bytes:
        head += f'Inference-Header-Content-Length: {json_bytes}\r\n'
    return head.encode() + b'\r\n' + body


def ranking_inputs(dice):
    rows = dice.randrange(1, 5)
    return [('x', 'FP32', [rows, 16], struct.pack(f'<{rows * 16}f', *(dice.random() for _ in range(rows * 16)))),
            ('ids', 'INT64', [rows], struct.pack(f'<{rows}q', *(dice.randrange(100) for _ in range(rows))))]


def echo_inputs(dice):
    count = dice.randrange(0, 9)
    return [('x', 'FP32', [count], struct.pack(f'<{count}f', *range(count)))]


def counter_inputs(_dice):
    return [('x', 'FP32', [3], struct.pack('<3f', 1, 2, 3))]


INPUTS = {'ranking': ranking_inputs, 'echo': echo_inputs, 'counter': counter_inputs}


def parameters(dice, model):
    given = {'binary_data_output': dice.random() < 0.5, 'timeout': dice.choice((0, 1, 10 ** 6))}
    if model == 'counter':
        given |= {'sequence_id': dice.randrange(1, 300), 'sequence_start': dice.random() < 0.5, 'sequence_end': dice.random() < 0.3}
    return given


def right_http(dice):
    """A request that the server should answer, as bytes or as JSON, at times in chunks."""
    model = dice.choice(list(INPUTS))
    inputs = INPUTS[model](dice)
    more = {'id': 'a', 'parameters': parameters(dice, model)}
    if dice.random() < 0.5:
        return http_post(model, *infer_body(inputs, **more))
    tensors = [{'name': name, 'datatype': datatype, 'shape': shape, 'data': numbers_in(datatype, data)}
               for name, datatype, shape, data in inputs]
    body = json.dumps({'inputs': tensors, **more}).encode()
    if dice.random() < 0.3:
        head = f'POST /v2/models/{model}/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n'.encode()
        return head + b'%x\r\n' % len(body) + body + b'\r\n0\r\n\r\n'
    return http_post(model, body, more=dice.choice(('', 'grpc-timeout: 1S\r\n', f'traceparent: 00-{"ab" * 16}-{"cd" * 8}-01\r\n')))


def right_grpc(dice, messages):
    """A ModelInferRequest; `messages` are the classes that protoc made."""
    model = dice.choice(list(INPUTS))
    request = messages.ModelInferRequest(model_name=model, id='a')
    for key, value in parameters(dice, model).items():
        kind = 'bool_param' if isinstance(value, bool) else 'int64_param'
        setattr(request.parameters[key], kind, value)
    has_numbers = dice.random() < 0.3
    for name, datatype, shape, data in INPUTS[model](dice):
        tensor = request.inputs.add(name=name, datatype=datatype, shape=shape)
        if has_numbers:
            getattr(tensor.contents, f'{datatype.lower()}_contents').extend(numbers_in(datatype, data))
        else:
            request.raw_input_contents.append(data)
    return request


INTERESTING = (b'0', b'-1', b'1e999', b'9223372036854775808', b'null', b'[]', b'{}', b'"', b'\\u0000', b'\x00', b'\xff', b'\r\n', b',', b']', b'}')


def mutant(dice, data):
    """Changes one to four places of the bytes: alters a byte, deletes or repeats a piece, or inserts a token that parsers often mishandle."""
    data = bytearray(data)
    for _ in range(dice.randrange(1, 5)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(6):
            case 0 if at < len(data):
                data[at] = dice.randrange(256)
            case 1 if at < len(data):
                data[at] ^= 1 << dice.randrange(8)
            case 2:
                del data[at:at + dice.randrange(1, 20)]
            case 3:
                data[at:at] = data[dice.randrange(len(data) + 1):][:dice.randrange(1, 40)]
            case 4:
                data[at:at] = dice.choice(INTERESTING)
            case _:
                digits = [i for i, byte in enumerate(data) if 48 <= byte < 58]
                if digits:
                    data[dice.choice(digits)] = dice.choice(b'0123456789-')
    return bytes(data)


NUMBERS = (-1, 0, 1, 3, 1 << 31, -(1 << 63), (1 << 63) - 1)


def grpc_mutant(dice, request):
    """Returns the bytes of a message in which one or two fields, or some bytes, are wrong."""
    if dice.random() < 0.3:
        return mutant(dice, request.SerializeToString())
    for _ in range(dice.randrange(1, 3)):
        tensor = dice.choice(request.inputs) if request.inputs else request.inputs.add()
        match dice.randrange(10):
            case 0:
                tensor.name = dice.choice(('', 'x', 'ids', 'z' * 5000))
            case 1:
                tensor.datatype = dice.choice(('', 'FP64', 'BF16', 'BOOL', 'BYTES', 'INT64'))
            case 2:
                tensor.shape.append(dice.choice(NUMBERS))
            case 3 if tensor.shape:
                tensor.shape[dice.randrange(len(tensor.shape))] = dice.choice(NUMBERS)
            case 4:
                request.raw_input_contents.append(dice.randbytes(dice.randrange(20)))
            case 5 if request.raw_input_contents:
                request.raw_input_contents[0] = mutant(dice, request.raw_input_contents[0])
            case 6:
                tensor.contents.int_contents.extend(dice.choice(NUMBERS[:4]) for _ in range(dice.randrange(5)))
            case 7:
                request.model_name = dice.choice(('', 'echo', 'counter', 'nothing'))
            case 8:
                request.outputs.add(name=dice.choice(('', 'output_0', 'output_1', 'z')))
            case _:
                request.parameters[dice.choice(('timeout', 'sequence_id', 'sequence_start', 'binary_data_output'))].int64_param = dice.choice(NUMBERS)
    return request.SerializeToString()


def body_mutant(dice, request):
    """Returns a mutant with the right Content-Length, so that the connection stays usable."""
    head, _, body = request.partition(HEAD_END)
    if b'chunked' in head:
        return mutant(dice, request)
    body = mutant(dice, body)
    lines = [line for line in head.split(b'\r\n') if not line.lower().startswith(b'content-length')]
    if dice.random() < 0.1:
        lines = [line for line in lines if not line.lower().startswith(b'inference-header')]
        lines.append(b'Inference-Header-Content-Length: %d' % dice.choice((0, 1, len(body) - 1, len(body), len(body) + 1)))
    return b'\r\n'.join([*lines, b'Content-Length: %d' % len(body)]) + HEAD_END + body
