"""Every function of torch.nn.functional, called with weights of a module instead of activations.

An expression reads `w` for the module: parameters m (4 x 6), s (2 x 4 x 8), i (2 x 4 x 6 x 6), c (1 x 2 x 4 x 4 x 4),
v (4) and u (4), all positive; buffers mean and var (4); and integers k (4) from 0 to 3.
"""

import linecache

import torch
import torch.nn.functional as F
from torch import nn

EXPRESSIONS = {
    'adaptive_avg_pool1d': 'F.adaptive_avg_pool1d(w.s, 3)',
    'adaptive_avg_pool2d': 'F.adaptive_avg_pool2d(w.i, [3, 2])',
    'adaptive_avg_pool3d': 'F.adaptive_avg_pool3d(w.c, [2, 2, 1])',
    'adaptive_max_pool1d': 'F.adaptive_max_pool1d(w.s, 3)',
    'adaptive_max_pool1d_with_indices': 'F.adaptive_max_pool1d_with_indices(w.s, 3)[0]',
    'adaptive_max_pool2d': 'F.adaptive_max_pool2d(w.i, [3, 2])',
    'adaptive_max_pool2d_with_indices': 'F.adaptive_max_pool2d_with_indices(w.i, [3, 2])[0]',
    'adaptive_max_pool3d': 'F.adaptive_max_pool3d(w.c, [2, 2, 1])',
    'adaptive_max_pool3d_with_indices': 'F.adaptive_max_pool3d_with_indices(w.c, [2, 2, 1])[0]',
    'affine_grid': 'F.affine_grid(w.m[:, :6].reshape(4, 2, 3), [4, 1, 3, 3], align_corners=False)',
    'alpha_dropout': 'F.alpha_dropout(w.m, 0.5, False)',
    'avg_pool1d': 'F.avg_pool1d(w.s, 2)',
    'avg_pool2d': 'F.avg_pool2d(w.i, 2)',
    'avg_pool3d': 'F.avg_pool3d(w.c, 2)',
    'batch_norm': 'F.batch_norm(w.i, w.mean, w.var, w.v, w.u, False)',
    'bilinear': 'F.bilinear(w.m, w.m, w.i[0, :, :6, :6])',
    'binary_cross_entropy': 'F.binary_cross_entropy(torch.sigmoid(w.m), torch.sigmoid(w.m * 2))',
    'binary_cross_entropy_with_logits': 'F.binary_cross_entropy_with_logits(w.m, torch.sigmoid(w.m))',
    'celu': 'F.celu(w.m)',
    'channel_shuffle': 'F.channel_shuffle(w.i, 2)',
    'conv1d': 'F.conv1d(w.s, w.s[:, :, :3], w.v[:2])',
    'conv2d': 'F.conv2d(w.i, w.i[:, :, :3, :3], w.v[:2])',
    'conv3d': 'F.conv3d(w.c, w.c[:, :, :2, :2, :2])',
    'conv_tbc': 'F.conv_tbc(w.s, w.s.transpose(1, 2)[:, :, :3], w.v[:3])',
    'conv_transpose1d': 'F.conv_transpose1d(w.s, w.m.unsqueeze(2)[:4, :2, :])',
    'conv_transpose2d': 'F.conv_transpose2d(w.i, w.i.transpose(0, 1)[:, :, :2, :2])',
    'conv_transpose3d': 'F.conv_transpose3d(w.c, w.c.transpose(0, 1)[:, :, :2, :2, :2])',
    'cosine_embedding_loss': 'F.cosine_embedding_loss(w.m, w.m * w.m, torch.ones([4]))',
    'cosine_similarity': 'F.cosine_similarity(w.m, w.m * w.m)',
    'cross_entropy': 'F.cross_entropy(w.m, w.k)',
    'ctc_loss': 'F.ctc_loss(F.log_softmax(w.s, 2), torch.ones([4, 1], dtype=torch.long), torch.full([4], 2), '
                'torch.full([4], 1))',
    'dropout': 'F.dropout(w.m, 0.5, False)',
    'dropout1d': 'F.dropout1d(w.s, 0.5, False)',
    'dropout2d': 'F.dropout2d(w.i, 0.5, False)',
    'dropout3d': 'F.dropout3d(w.c, 0.5, False)',
    'elu': 'F.elu(w.m - 1) + F.elu(w.m)',
    'embedding': 'F.embedding(w.k, w.m)',
    'embedding_bag': 'F.embedding_bag(w.k, w.m, torch.tensor([0, 2]))',
    'feature_alpha_dropout': 'F.feature_alpha_dropout(w.i, 0.5, False)',
    'fold': 'F.fold(w.s, [3, 3], [2, 2])[:, :, :2] if w.s.size(2) == 4 else F.fold(w.s[:, :, :4], [3, 3], [2, 2])',
    'gaussian_nll_loss': 'F.gaussian_nll_loss(w.m, w.m * 2, w.m)',
    'gelu': 'F.gelu(w.m)',
    'glu': 'F.glu(w.m)',
    'grid_sample': 'F.grid_sample(w.i, torch.tanh(w.i[:, :, :, :2]), align_corners=False)',
    'group_norm': 'F.group_norm(w.i, 2, w.v, w.u)',
    'hardshrink': 'F.hardshrink(w.m)',
    'hardsigmoid': 'F.hardsigmoid(w.m)',
    'hardswish': 'F.hardswish(w.m)',
    'hardtanh': 'F.hardtanh(w.m)',
    'hinge_embedding_loss': 'F.hinge_embedding_loss(w.m, torch.ones([4, 6]))',
    'huber_loss': 'F.huber_loss(w.m, w.m * 2)',
    'instance_norm': 'F.instance_norm(w.i, w.mean, w.var, w.v, w.u, False)',
    'interpolate': "F.interpolate(w.i, scale_factor=2.0, mode='nearest')",
    'kl_div': "F.kl_div(w.m, w.m, reduction='sum')",
    'l1_loss': 'F.l1_loss(w.m, w.m * 2)',
    'layer_norm': 'F.layer_norm(w.i.transpose(1, 3), [4], w.v, w.u)',
    'leaky_relu': 'F.leaky_relu(w.m - 1) + F.leaky_relu(w.m)',
    'linear': 'F.linear(w.m.t(), w.m.t(), w.m[0])',
    'local_response_norm': 'F.local_response_norm(w.i, 2)',
    'log_softmax': 'F.log_softmax(w.m, 1)',
    'logsigmoid': 'F.logsigmoid(w.m)',
    'lp_pool1d': 'F.lp_pool1d(w.s, 2.0, 2)',
    'lp_pool2d': 'F.lp_pool2d(w.i, 2.0, 2)',
    'lp_pool3d': 'F.lp_pool3d(w.c, 2.0, 2)',
    'margin_ranking_loss': 'F.margin_ranking_loss(w.m, w.m * 2, torch.ones([4, 6]))',
    'max_pool1d': 'F.max_pool1d(w.s, 2)',
    'max_pool1d_with_indices': 'F.max_pool1d_with_indices(w.s, 2)[0]',
    'max_pool2d': 'F.max_pool2d(w.i, 2)',
    'max_pool2d_with_indices': 'F.max_pool2d_with_indices(w.i, [2, 2])[0]',
    'max_pool3d': 'F.max_pool3d(w.c, 2)',
    'max_pool3d_with_indices': 'F.max_pool3d_with_indices(w.c, [2, 2, 2])[0]',
    'max_unpool1d': 'F.max_unpool1d(w.s[:, :, :2], torch.tensor([0, 3]).expand(2, 4, 2), 2)',
    'max_unpool2d': 'F.max_unpool2d(w.i[:, :, :1, :2], torch.tensor([[0, 3]]).expand(2, 4, 1, 2), 2)',
    'max_unpool3d': 'F.max_unpool3d(w.c[:, :, :1, :1, :1], torch.zeros([1, 2, 1, 1, 1], dtype=torch.long), 2)',
    'mish': 'F.mish(w.m)',
    'mse_loss': 'F.mse_loss(w.m, w.m * 2)',
    'multi_margin_loss': 'F.multi_margin_loss(w.m, w.k)',
    'multilabel_margin_loss': 'F.multilabel_margin_loss(w.m[:, :4], w.k.unsqueeze(0).expand(4, 4).contiguous())',
    'multilabel_soft_margin_loss': 'F.multilabel_soft_margin_loss(w.m, torch.ones([4, 6]))',
    'native_channel_shuffle': 'F.native_channel_shuffle(w.i, 2)',
    'nll_loss': 'F.nll_loss(w.m, w.k)',
    'normalize': 'F.normalize(w.m)',
    'one_hot': 'F.one_hot(w.k, 5) * w.u.sum()',
    'pad': 'F.pad(w.m, [1, 2])',
    'pairwise_distance': 'F.pairwise_distance(w.m, w.m * 2)',
    'pdist': 'F.pdist(w.m * w.m)',
    'pixel_shuffle': 'F.pixel_shuffle(w.i, 2)',
    'pixel_unshuffle': 'F.pixel_unshuffle(w.i, 2)',
    'poisson_nll_loss': 'F.poisson_nll_loss(w.m, w.m)',
    'prelu': 'F.prelu(w.i - 1, w.v)',
    'relu': 'F.relu(w.m)',
    'relu6': 'F.relu6(w.m)',
    'rms_norm': 'F.rms_norm(w.i.transpose(1, 3), [4], w.v)',
    'rrelu': 'F.rrelu(w.m - 1) + F.rrelu(w.m)',
    'scaled_dot_product_attention': 'F.scaled_dot_product_attention(w.s, w.s, w.s)',
    'selu': 'F.selu(w.m)',
    'sigmoid': 'F.sigmoid(w.m)',
    'silu': 'F.silu(w.m)',
    'smooth_l1_loss': 'F.smooth_l1_loss(w.m, w.m * 2)',
    'soft_margin_loss': 'F.soft_margin_loss(w.m, torch.ones([4, 6]))',
    'softmax': 'F.softmax(w.m, 1)',
    'softmin': 'F.softmin(w.m, 1)',
    'softplus': 'F.softplus(w.m)',
    'softshrink': 'F.softshrink(w.m)',
    'softsign': 'F.softsign(w.m)',
    'tanh': 'F.tanh(w.m)',
    'tanhshrink': 'F.tanhshrink(w.m)',
    'threshold': 'F.threshold(w.m, 1.0, 0.5)',
    'triplet_margin_loss': 'F.triplet_margin_loss(w.m, w.m * 2, w.m * 3)',
    'triplet_margin_with_distance_loss': 'F.triplet_margin_with_distance_loss(w.m, w.m * 2, w.m * 3)',
    'unfold': 'F.unfold(w.i, [2, 2])',
    'upsample': "F.upsample(w.i, scale_factor=2.0)",
    'upsample_bilinear': 'F.upsample_bilinear(w.i, scale_factor=2)',
    'upsample_nearest': 'F.upsample_nearest(w.i, scale_factor=2)',
    # Not functions of torch.nn.functional, but ways in which models reach a weight.
    'a detached weight': 'F.relu6(w.m.detach()) + 1',
    'the data of a weight': 'F.leaky_relu(w.m.data) * 2',
    'a row of a weight': 'F.dropout(w.m[1], 0.5, False)',
    'columns of a weight': 'F.relu6(w.m[:, 1:3].t())',
    'a flat view of a weight': 'F.hardtanh(w.m.view(-1)).exp()',
    'an expanded weight': 'F.celu(w.v.unsqueeze(0).expand(3, 4))',
    'a list of weights': 'torch.stack([F.relu6(each) for each in [w.v, w.u]])',
}

# Functions that no call of this table can stand for.
EXCLUDED = {
    'Optional', 'assert_int_or_pair', 'boolean_dispatch', 'handle_torch_function', 'has_torch_function',
    'has_torch_function_unary', 'has_torch_function_variadic',  # none of them computes
    'celu_', 'elu_', 'hardtanh_', 'leaky_relu_', 'relu_', 'rrelu_', 'selu_', 'threshold_',  # they do write
    'fractional_max_pool2d', 'fractional_max_pool2d_with_indices', 'fractional_max_pool3d',
    'fractional_max_pool3d_with_indices', 'gumbel_softmax',  # random
    'grouped_mm', 'scaled_grouped_mm', 'scaled_mm',  # of dtypes and processors that this test does not have
    'linear_cross_entropy', 'multi_head_attention_forward',  # the tests of modules call them
}
# Expressions that a front end of torch's refuses.
REFUSED = {
    'script': {'gaussian_nll_loss', 'triplet_margin_with_distance_loss', 'upsample_bilinear', 'upsample_nearest'},
    'trace': {'max_unpool1d', 'max_unpool2d', 'max_unpool3d'},  # torch._check of data
    'export': {'ctc_loss', 'gaussian_nll_loss', 'the data of a weight'},
}

_SOURCE = """
class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        for name, sizes in SIZES.items():
            self.register_parameter(name, nn.Parameter(torch.rand(sizes) + 0.2))
        self.register_buffer('mean', torch.rand(4))
        self.register_buffer('var', torch.rand(4) + 0.5)
        self.register_buffer('k', torch.tensor([1, 3, 0, 2]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        w = self
        return EXPRESSION + x
"""
SIZES = {'m': (4, 6), 's': (2, 4, 8), 'i': (2, 4, 6, 6), 'c': (1, 2, 4, 4, 4), 'v': (4,), 'u': (4,)}


def model_of(name: str) -> nn.Module:
    """A module that returns the value of the expression. Its source is where torch.jit.script looks for it."""
    source, file = _SOURCE.replace('EXPRESSION', EXPRESSIONS[name]), f'<{name}>'
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    names = {'nn': nn, 'torch': torch, 'F': F, 'SIZES': SIZES, '__name__': __name__}
    exec(compile(source, file, 'exec'), names)
    return names['Weights']()
