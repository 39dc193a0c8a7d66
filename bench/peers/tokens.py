"""Tokens a second of a small random Llama with 8- and 4-bit weights: sr against llama.cpp, in one process.

Both multiply weights with a scale for each 32 elements by activations that are rounded to 8 bits. Sizes are those of
SmolLM-135M. `.venv-peers` needs two packages more, of which the first compiles llama.cpp: llama-cpp-python and gguf.
"""

import argparse
import pathlib
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F

import sr

VOCABULARY, WIDTH, LAYERS, HEADS, KEY_HEADS, HIDDEN, HEAD, CONTEXT = 49152, 576, 30, 9, 3, 1536, 64, 512
GROUP = 32


class Quantized(torch.nn.Module):
    """A linear layer as sr.quantize writes it with groups, random."""

    def __init__(self, outputs: int, inputs: int, bits: int):
        super().__init__()
        largest = 127 if bits == 8 else 7
        self.outputs = outputs
        sizes = outputs, inputs // GROUP, GROUP
        self.register_buffer('integers', torch.randint(-largest, largest + 1, sizes, dtype=torch.int8))
        self.register_buffer('scale', torch.rand(*sizes[:2], 1) * 0.1 / largest)

    def forward(self, x):
        scale = torch.clamp(torch.maximum(torch.amax(x, [-1], True), -torch.amin(x, [-1], True)) / 127., min=1e-12)
        rows = torch.clamp(torch.round(x * (1.0 / scale)), -127, 127).to(torch.int8).to(torch.float32) * scale
        return F.linear(rows, (self.integers.to(torch.float32) * self.scale).reshape(self.outputs, -1))


class Layer(torch.nn.Module):
    def __init__(self, bits: int):
        super().__init__()
        keys = KEY_HEADS * HEAD
        self.q, self.k, self.v, self.o = (Quantized(n, WIDTH, bits) for n in (WIDTH, keys, keys, WIDTH))
        self.gate, self.up, self.down = (Quantized(*sizes, bits)
                                         for sizes in ((HIDDEN, WIDTH), (HIDDEN, WIDTH), (WIDTH, HIDDEN)))
        self.register_buffer('keys', torch.zeros(1, KEY_HEADS, CONTEXT, HEAD))
        self.register_buffer('values', torch.zeros(1, KEY_HEADS, CONTEXT, HEAD))
        self.register_buffer('ones', torch.ones(WIDTH))

    def forward(self, x, cos, sin, position: int):
        h = F.rms_norm(x, [576], self.ones, 1e-5)
        q, k = self.q(h).view(1, 9, 1, 64), self.k(h).view(1, 3, 1, 64)
        q = q * cos + torch.cat([-q[..., 32:], q[..., :32]], -1) * sin
        k = k * cos + torch.cat([-k[..., 32:], k[..., :32]], -1) * sin
        self.keys[:, :, position:position + 1] = k
        self.values[:, :, position:position + 1] = self.v(h).view(1, 3, 1, 64)
        keys, values = self.keys[:, :, :position + 1], self.values[:, :, :position + 1]
        y = F.scaled_dot_product_attention(q.view(1, 3, 3, 64), keys, values)  # a head of keys serves three of queries
        x = x + self.o(y.reshape(1, 1, 576))
        h = F.rms_norm(x, [576], self.ones, 1e-5)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(torch.nn.Module):
    """Returns the next token."""

    def __init__(self, bits: int):
        super().__init__()
        self.embedding = Quantized(VOCABULARY, WIDTH, bits)
        self.layers = torch.nn.ModuleList(Layer(bits) for _ in range(LAYERS))
        angles = torch.arange(CONTEXT)[:, None] / 10000 ** (torch.arange(0, HEAD, 2) / HEAD)[None]
        self.register_buffer('cos', torch.cat([angles, angles], -1).cos())
        self.register_buffer('sin', torch.cat([angles, angles], -1).sin())
        self.register_buffer('ones', torch.ones(WIDTH))
        self.position = 0

    def forward(self, token):
        p = self.position
        x = (self.embedding.integers[token].to(torch.float32) * self.embedding.scale[token]).reshape(1, 1, 576)
        for layer in self.layers:
            x = layer(x, self.cos[p:p + 1], self.sin[p:p + 1], p)
        self.position = p + 1
        return torch.argmax(self.embedding(F.rms_norm(x, [576], self.ones, 1e-5))[0], -1)


def write_gguf(path: pathlib.Path, bits: int) -> None:
    """Writes a model of the same sizes for llama.cpp."""
    import gguf

    kind = gguf.GGMLQuantizationType.Q8_0 if bits == 8 else gguf.GGMLQuantizationType.Q4_0
    random = np.random.default_rng(0)
    writer = gguf.GGUFWriter(str(path), 'llama')
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HEAD)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if bits == 8 else gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model('llama')
    writer.add_token_list([b'<unk>', b'<s>', b'</s>', *(f'<t{i}>'.encode() for i in range(3, VOCABULARY))])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([2, 3, 3, *[1] * (VOCABULARY - 3)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)

    def add(name, *sizes):
        if len(sizes) == 1:
            writer.add_tensor(name, np.ones(sizes, np.float32))
        else:
            floats = (random.standard_normal(sizes) * 0.05).astype(np.float32)
            writer.add_tensor(name, gguf.quants.quantize(floats, kind), raw_dtype=kind)

    add('token_embd.weight', VOCABULARY, WIDTH)
    add('output_norm.weight', WIDTH)
    for i in range(LAYERS):
        for name, *sizes in (('attn_norm', WIDTH), ('ffn_norm', WIDTH), ('attn_q', WIDTH, WIDTH),
                             ('attn_k', KEY_HEADS * HEAD, WIDTH), ('attn_v', KEY_HEADS * HEAD, WIDTH),
                             ('attn_output', WIDTH, WIDTH), ('ffn_gate', HIDDEN, WIDTH), ('ffn_up', HIDDEN, WIDTH),
                             ('ffn_down', WIDTH, HIDDEN)):
            add(f'blk.{i}.{name}.weight', *sizes)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def of_sr(bits: int):
    """Returns a function that generates so many tokens in a new sequence."""
    torch.manual_seed(0)
    session = sr.StaticModule(torch.jit.script(Llama(bits).eval())).session()

    def generate(count: int) -> None:
        session.reset()
        token = torch.tensor([1])
        for _ in range(count):
            token = session(token)

    return generate


def of_llama_cpp(path: pathlib.Path, threads: int):
    import llama_cpp

    model = llama_cpp.Llama(str(path), n_ctx=CONTEXT, n_threads=threads, n_threads_batch=threads, verbose=False)

    def generate(count: int) -> None:
        model.reset()
        for i in range(count):
            model.eval([(i * 7 + 1) % VOCABULARY])

    return generate


def main():
    parser = argparse.ArgumentParser(prog='./dev bench peers tokens', description=__doc__)
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--tokens', type=int, default=64, help='length of a sequence, and of a round (default 64)')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--data', type=pathlib.Path, default=pathlib.Path('build/peers'), help='for the models')
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.data.mkdir(parents=True, exist_ok=True)
    print('| weights | threads | sr, tokens a second | llama.cpp | sr / llama.cpp |')
    print('| --- | ---: | ---: | ---: | ---: |')
    for bits, name in ((8, 'Q8_0'), (4, 'Q4_0')):
        path = args.data / f'{name}.gguf'
        if not path.exists():
            write_gguf(path, bits)
        peers = [of_sr(bits), of_llama_cpp(path, args.threads)]
        rates = []
        for _ in range(args.rounds + 2):
            rates.append([])
            for generate in peers:
                begin = time.perf_counter()
                generate(args.tokens)
                rates[-1].append(args.tokens / (time.perf_counter() - begin))
        ours, theirs = zip(*rates[2:])
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        print(f'| {name} | {args.threads} | {statistics.median(ours):.0f} | {statistics.median(theirs):.0f} | '
              f'{ratio:.2f} |', flush=True)


if __name__ == '__main__':
    main()
