"""What serve.py compares `sr serve` with: the same model behind FastAPI and uvicorn, Ray Serve, and MLServer.

    python bench/serving/servers.py fastapi MODEL.pt2 PORT
    python bench/serving/servers.py ray MODEL.pt2 PORT
    python bench/serving/servers.py mlserver MODEL.pt2 PORT
"""

import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import torch

import sr

SHAPES = ((1, 32), (1, 32), (50,))  # of a row of each argument


def answered(module, body):
    """The bytes of the scores of a request that has the arguments' bytes one behind the other."""
    values, parts, at = np.frombuffer(body, np.float32), [], 0
    rows = values.size // sum(int(np.prod(shape)) for shape in SHAPES)
    for shape in SHAPES:
        count = rows * int(np.prod(shape))
        parts.append(torch.from_numpy(values[at:at + count].copy()).reshape(rows, *shape))
        at += count
    return module(*parts).numpy().tobytes()


def run_fastapi(path, port):
    import fastapi
    import pydantic
    import uvicorn

    app = fastapi.FastAPI()
    module = sr.load(path)

    class Rows(pydantic.BaseModel):
        ad: list[list[list[float]]]
        user: list[list[list[float]]]
        wide: list[list[float]]

    @app.post('/json')
    async def answer_json(rows: Rows):
        return {'scores': module(torch.tensor(rows.ad), torch.tensor(rows.user), torch.tensor(rows.wide)).tolist()}

    @app.post('/bytes')
    async def answer_bytes(request: fastapi.Request):
        return fastapi.Response(answered(module, await request.body()), media_type='application/octet-stream')

    uvicorn.run(app, host='127.0.0.1', port=port, log_level='warning', access_log=False)


def run_ray(path, port):
    import ray
    from ray import serve
    from starlette.responses import Response

    @serve.deployment(max_ongoing_requests=256, ray_actor_options={'num_cpus': 1})
    class Replica:
        def __init__(self):
            torch.set_num_threads(1)
            self.module = sr.load(path)

        async def __call__(self, request):
            return Response(answered(self.module, await request.body()), media_type='application/octet-stream')

    ray.init(num_cpus=2, include_dashboard=False, logging_level='error')
    serve.start(http_options={'host': '127.0.0.1', 'port': port})
    serve.run(Replica.bind())
    time.sleep(1e6)


def run_mlserver(model, port):
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / 'settings.json').write_text(json.dumps({'host': '127.0.0.1', 'http_port': port, 'grpc_port': port + 1, 'metrics_port': port + 2,
                                                      'parallel_workers': 0, 'debug': False}))
    (folder / 'model-settings.json').write_text(json.dumps({'name': 'model', 'implementation': 'servers.Runtime', 'parameters': {'uri': model}}))
    here = str(pathlib.Path(__file__).parent)
    os.environ['PYTHONPATH'] = os.pathsep.join([here, os.environ.get('PYTHONPATH', '')])
    program = pathlib.Path(sys.executable).parent / 'mlserver'
    os.execv(program, [str(program), 'start', str(folder)])


try:
    import mlserver
    from mlserver.codecs import NumpyCodec

    class Runtime(mlserver.MLModel):
        async def load(self):
            self.module = sr.load(self.settings.parameters.uri)
            return True

        async def predict(self, payload):
            given = {each.name: torch.from_numpy(NumpyCodec.decode_input(each).astype(np.float32)) for each in payload.inputs}
            scores = self.module(given['ad'], given['user'], given['wide'])
            return mlserver.types.InferenceResponse(model_name='model', outputs=[NumpyCodec.encode_output('scores', scores.numpy())])
except ImportError:
    pass

if __name__ == '__main__':
    torch.set_num_threads(1)
    {'fastapi': run_fastapi, 'ray': run_ray, 'mlserver': run_mlserver}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
