"""Clients that others wrote, against the running server. Every answer is compared with a direct call."""

import json
import subprocess

import numpy as np
import pytest
import torch
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

import served


def triton(server, kind):
    module = tritonclient.http if kind == 'http' else tritonclient.grpc
    return module, module.InferenceServerClient(server.http if kind == 'http' else server.grpc)


def triton_input(module, name, value, binary=True):
    given = module.InferInput(name, list(value.shape), np_to_triton_dtype(value.dtype))
    if module is tritonclient.http:
        given.set_data_from_numpy(value, binary_data=binary)
    else:
        given.set_data_from_numpy(value)
    return given


@pytest.mark.parametrize('kind', ['http', 'grpc'])
def test_health_and_metadata(server, kind):
    _, client = triton(server, kind)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready('ranking')
    assert not client.is_model_ready('nothing')
    about = client.get_server_metadata()
    model = client.get_model_metadata('ranking')
    if kind == 'grpc':
        inputs = {each.name: (each.datatype, list(each.shape)) for each in model.inputs}
        outputs = [(each.datatype, list(each.shape)) for each in model.outputs]
        assert about.name == 'sr' and list(model.versions) == ['1']
    else:
        inputs = {each['name']: (each['datatype'], each['shape']) for each in model['inputs']}
        outputs = [(each['datatype'], each['shape']) for each in model['outputs']]
        assert about['name'] == 'sr' and model['versions'] == ['1']
    assert inputs == {'x': ('FP32', [-1, 16]), 'ids': ('INT64', [-1])}
    assert outputs == [('FP32', [-1, 4]), ('INT64', [-1])]


@pytest.mark.parametrize('kind', ['http', 'grpc'])
@pytest.mark.parametrize('rows', [1, 2, 7, 64, 300])
def test_answers_are_those_of_the_model(server, models, kind, rows):
    module, client = triton(server, kind)
    x, ids = torch.rand(rows, 16), torch.randint(0, 100, (rows,))
    scores, best = models['ranking'](x, ids)
    for binary in (True, False) if kind == 'http' else (True,):
        answer = client.infer('ranking', [triton_input(module, 'x', x.numpy(), binary),
                                          triton_input(module, 'ids', ids.numpy(), binary)], request_id='r1')
        response = answer.get_response()
        names = [out['name'] for out in response['outputs']] if kind == 'http' else [out.name for out in response.outputs]
        assert (response['id'] if kind == 'http' else response.id) == 'r1'
        torch.testing.assert_close(torch.from_numpy(answer.as_numpy(names[0]).copy()), scores)
        assert np.array_equal(answer.as_numpy(names[1]), best.numpy())
        wanted = [module.InferRequestedOutput(names[1])]
        only = client.infer('ranking', [triton_input(module, 'x', x.numpy()), triton_input(module, 'ids', ids.numpy())],
                            outputs=wanted)
        assert only.as_numpy(names[0]) is None and np.array_equal(only.as_numpy(names[1]), best.numpy())


@pytest.mark.parametrize('kind', ['http', 'grpc'])
@pytest.mark.parametrize('dtype', [np.bool_, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64,
                                   np.float16, np.float32, np.float64])
@pytest.mark.parametrize('shape', [(3, 2), (5,), (), (0, 4), (1, 1, 2)])
def test_every_datatype_and_shape(server, kind, dtype, shape):
    module, client = triton(server, kind)
    value = (np.random.default_rng(1).random(shape) * 100).astype(dtype)
    if np.issubdtype(dtype, np.integer) and value.size:
        value.flat[0] = np.iinfo(dtype).max
    for binary in (True, False) if kind == 'http' and dtype != np.float16 else (True,):
        answer = client.infer('echo', [triton_input(module, 'x', np.asarray(value), binary)],
                              outputs=[module.InferRequestedOutput('output_0', **({'binary_data': binary} if kind == 'http' else {}))])
        got = answer.as_numpy('output_0')
        assert got.dtype == value.dtype and got.shape == value.shape and np.array_equal(got, value)


def test_bfloat16(server):
    value = torch.tensor([1.5, -2.25, float('inf')], dtype=torch.bfloat16)
    status, body = server.infer('echo', {'x': value[:2]})
    assert status == 200 and torch.equal(served.tensors(body)['output_0'], value[:2])
    raw = value.view(torch.int16).numpy().tobytes()
    head = json.dumps({'inputs': [{'name': 'x', 'shape': [3], 'datatype': 'BF16', 'parameters': {'binary_data_size': 6}}],
                       'parameters': {'binary_data_output': True}}).encode()
    status, headers, answer = server.request('POST', '/v2/models/echo/infer', head + raw,
                                             {'Inference-Header-Content-Length': str(len(head))})
    assert status == 200 and answer[int(headers['Inference-Header-Content-Length']):] == raw


def test_typed_contents_of_grpc(server):
    from tritonclient.grpc import service_pb2, service_pb2_grpc
    import grpc
    stub = service_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(server.grpc))
    fields = {'BOOL': ('bool_contents', [True, False]), 'INT8': ('int_contents', [-128, 127]), 'INT64': ('int64_contents', [-2**63, 5]),
              'UINT16': ('uint_contents', [0, 65535]), 'UINT64': ('uint64_contents', [0, 2**64 - 1]),
              'FP32': ('fp32_contents', [0.5, -1.0]), 'FP64': ('fp64_contents', [0.1, 2.0])}
    for datatype, (field, values) in fields.items():
        request = service_pb2.ModelInferRequest(model_name='echo')
        tensor = request.inputs.add(name='x', datatype=datatype, shape=[2])
        getattr(tensor.contents, field).extend(values)
        answer = stub.ModelInfer(request)
        got = np.frombuffer(answer.raw_output_contents[0], served.DTYPES[datatype].__str__().removeprefix('torch.'))
        assert answer.outputs[0].datatype == datatype and got.tolist() == values
    request = service_pb2.ModelInferRequest(model_name='echo')
    request.inputs.add(name='x', datatype='INT8', shape=[1]).contents.int_contents.append(300)
    with pytest.raises(grpc.RpcError) as failed:
        stub.ModelInfer(request)
    assert failed.value.code() == grpc.StatusCode.INVALID_ARGUMENT and '300' in failed.value.details()


def test_a_stream_answers_in_order(server, models):
    module, client = triton(server, 'grpc')
    answers = []
    client.start_stream(callback=lambda result, error: answers.append((result, error)))
    values = [np.full((2, 2), i, np.float32) for i in range(50)]
    for i, value in enumerate(values):
        client.async_stream_infer('echo' if i != 25 else 'nothing', [triton_input(module, 'x', value)], request_id=str(i))
    client.stop_stream()
    assert len(answers) == 50
    for i, (result, error) in enumerate(answers):
        if i == 25:
            assert error is not None and 'nothing' in str(error)
        else:
            assert error is None and result.get_response().id == str(i)
            assert np.array_equal(result.as_numpy('output_0'), values[i])


def test_many_requests_of_one_client_at_once(server, models):
    client = tritonclient.http.InferenceServerClient(server.http, concurrency=8)
    inputs = [(torch.rand(n % 9 + 1, 16), torch.randint(0, 100, (n % 9 + 1,))) for n in range(200)]
    pending = [client.async_infer('ranking', [triton_input(tritonclient.http, 'x', x.numpy()),
                                              triton_input(tritonclient.http, 'ids', ids.numpy())]) for x, ids in inputs]
    for (x, ids), answer in zip(inputs, pending):
        result = answer.get_result()
        name = result.get_response()['outputs'][0]['name']
        torch.testing.assert_close(torch.from_numpy(result.as_numpy(name).copy()), models['ranking'](x, ids)[0])


@pytest.mark.parametrize('kind', ['http', 'grpc'])
def test_errors_reach_clients(server, kind):
    module, client = triton(server, kind)
    x = np.zeros((2, 16), np.float32)
    with pytest.raises(InferenceServerException, match="no model 'nothing'"):
        client.infer('nothing', [triton_input(module, 'x', x)])
    with pytest.raises(InferenceServerException, match="no version '9'"):
        client.infer('echo', [triton_input(module, 'x', x)], model_version='9')
    with pytest.raises(InferenceServerException, match="no input 'z'"):
        client.infer('ranking', [triton_input(module, 'z', x)])
    with pytest.raises(InferenceServerException, match="'ids' is missing"):
        client.infer('ranking', [triton_input(module, 'x', x)])
    with pytest.raises(InferenceServerException, match='numbers only'):
        client.infer('echo', [triton_input(module, 'x', np.array([b'a'], np.object_))])
    with pytest.raises(InferenceServerException, match="no output 'y'"):
        client.infer('echo', [triton_input(module, 'x', x)], outputs=[module.InferRequestedOutput('y')])
    with pytest.raises(InferenceServerException, match='ids'):
        client.infer('ranking', [triton_input(module, 'x', x), triton_input(module, 'ids', np.zeros(2, np.float32))])


def test_curl(server, models):
    body = '{"inputs": [{"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [[1, 2], [3, 4.5]]}]}'
    done = subprocess.run(['curl', '-s', '--fail', '-d', body, f'http://{server.http}/v2/models/echo/infer'],
                          capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)['outputs'] == [{'name': 'output_0', 'datatype': 'FP32', 'shape': [2, 2], 'data': [1, 2, 3, 4.5]}]
