"""Writes build/models: TorchScript models, their weights for eager, input sets, and manifest.json.

`NAME.BATCH.inputs.pt` holds a list of input sets, each a list of positional arguments. Does nothing when the manifest
was written by these scripts and this version of torch.
"""

import hashlib
import json
import pathlib
import sys
import time
import warnings

import torch

import models

OUT = pathlib.Path(__file__).resolve().parent.parent / 'build' / 'models'
INPUT_SETS = 3
TRAIN_ACCURACY = 0.97


def say(text):
    print(f'models: {text}', file=sys.stderr, flush=True)


def stamp():
    sources = b''.join(pathlib.Path(module.__file__).read_bytes() for module in (models, sys.modules[__name__]))
    return hashlib.sha256(sources).hexdigest()[:16]


def digits():
    from sklearn.datasets import load_digits

    data = load_digits()
    return torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(data.target)


def accuracy(output, labels):
    return (output.argmax(1) == labels).double().mean().item()


def train(model, images, labels):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(12):
        for chosen in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimizer.step()
    with torch.no_grad():
        return accuracy(model.eval()(images), labels)


def write(name, images, labels):
    """Makes one model and its inputs; returns its entry of the manifest."""
    start = time.monotonic()
    torch.manual_seed(sum(map(ord, name)))
    kind, batches = models.MODELS[name]
    model, note = kind(), ''
    if models.is_digits(name):
        reached = train(model, images, labels)
        note = f', accuracy {reached:.4f}'
        if reached < TRAIN_ACCURACY:
            sys.exit(f'{name} learned only {reached:.4f} of the digits, less than {TRAIN_ACCURACY}')
    model.eval().requires_grad_(False)
    torch.jit.script(model).save(str(OUT / f'{name}.pt'))
    torch.save(model.state_dict(), OUT / f'{name}.weights.pt')
    inputs = {}
    for batch in batches:
        if models.is_digits(name):
            sets = [[images[i * batch:(i + 1) * batch].clone()] for i in range(INPUT_SETS)]
        else:
            sets = [kind.inputs(batch) for _ in range(INPUT_SETS)]
        inputs[batch] = f'{name}.{batch}.inputs.pt'
        torch.save(sets, OUT / inputs[batch])
    say(f'{name}{note}, {time.monotonic() - start:.1f} s')
    return {'name': name, 'file': f'{name}.pt', 'weights': f'{name}.weights.pt', 'inputs': inputs,
            'all_inputs': 'digits.all.inputs.pt' if models.is_digits(name) else None}


def make():
    """Returns the manifest, after writing the files that it names if they are missing."""
    warnings.filterwarnings('ignore', category=DeprecationWarning)
    manifest = OUT / 'manifest.json'
    want = {'scripts': stamp(), 'torch': torch.__version__}
    if manifest.exists():
        found = json.loads(manifest.read_text())
        if found['made_by'] == want:
            return found
    OUT.mkdir(parents=True, exist_ok=True)
    manifest.unlink(missing_ok=True)
    say(f'writing {OUT}')
    images, labels = digits()
    torch.save([[images]], OUT / 'digits.all.inputs.pt')
    torch.save(labels, OUT / 'digits.labels.pt')
    content = {'made_by': want, 'labels': 'digits.labels.pt', 'models': [write(n, images, labels) for n in models.MODELS]}
    manifest.write_text(json.dumps(content, indent=1))
    return json.loads(manifest.read_text())


if __name__ == '__main__':
    make()
