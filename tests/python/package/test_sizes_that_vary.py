"""Operators on batches of every size and memory layout: one plan per operator and layout serves all sizes."""

import linecache

import pytest
import sr
import torch

LAYOUTS = {
    'contiguous': lambda batch: torch.rand(batch, 6, 4, 5) + 0.1,
    'permuted': lambda batch: (torch.rand(batch, 4, 5, 6) + 0.1).permute(0, 3, 1, 2),
    'channels_last': lambda batch: (torch.rand(batch, 6, 4, 5) + 0.1).to(memory_format=torch.channels_last),
}

# What the names stand for is in SOURCE.
OPERATORS = {
    'add': 'x+x*2',
    'mul_scalar': 'x*2.0',
    'relu': 'torch.relu(x)',
    'exp': 'x.exp()',
    'gelu': 'F.gelu(x)',
    'where': 'torch.where(x>0.5,x,x*2)',
    'clamp': 'x.clamp(0.2,0.8)',
    'pow': 'x.pow(2.5)',
    'floor_divide': 'torch.floor_divide(x,0.3)',
    'remainder': 'torch.remainder(x,0.3)',
    'div_mode': "torch.div(x,0.3,rounding_mode='floor')",
    'broadcast': 'x+w',
    'compare': 'x>0.5',
    'logical': '(x>0.5)&(x<0.7)',
    'cast': 'x.to(torch.float64)',
    'masked_fill': 'x.masked_fill(x>0.5,0.0)',
    'lerp': 'torch.lerp(x,x*2,0.3)',
    'addcmul': 'torch.addcmul(x,x,x)',
    'softmax': 'F.softmax(x,-1)',
    'softmax1': 'F.softmax(x,1)',
    'log_softmax': 'F.log_softmax(x,-1)',
    'layer_norm': 'F.layer_norm(x,[5],w,w)',
    'rms_norm': 'F.rms_norm(x,[5],w)',
    'group_norm': 'F.group_norm(x,2,v,v)',
    'batch_norm': 'F.batch_norm(x,v,v)',
    'instance_norm': 'F.instance_norm(x)',
    'normalize': 'F.normalize(x,dim=1)',
    'sum': 'x.sum(-1)',
    'sum_all': 'x.sum()',
    'mean': 'x.mean((2,3))',
    'mean_keep': 'x.mean(1,keepdim=True)',
    'amax': 'x.amax(1)',
    'max_dim': 'x.max(1)[0]',
    'argmax': 'x.argmax(1)',
    'var': 'x.var(1)',
    'std': 'x.std(-1)',
    'var_mean': 'torch.var_mean(x,1)[0]',
    'prod': 'x.prod(1)',
    'norm': 'x.norm(2.0,1)',
    'vector_norm': 'torch.linalg.vector_norm(x,2.0,[1])',
    'logsumexp': 'torch.logsumexp(x,1)',
    'cumsum': 'x.cumsum(1)',
    'cumprod': 'x.cumprod(1)',
    'median': 'x.median(-1)[0]',
    'median_all': 'x.median()',
    'any': '(x>0.5).any(1)',
    'all': '(x>0.5).all(1)',
    'topk': 'x.topk(2,1)[0]',
    'sort': 'x.sort(1)[0]',
    'argsort': 'x.argsort(1)',
    'kthvalue': 'x.kthvalue(2,1)[0]',
    'mode': 'x.mode(1)[0]',
    'nansum': 'x.nansum(1)',
    'count_nonzero': 'x.count_nonzero(1)',
    'quantile': 'x.quantile(0.5,1)',
    'cummax': 'x.cummax(1)[0]',
    'cat': 'torch.cat([x,x],1)',
    'stack': 'torch.stack([x,x],1)',
    'chunk': 'x.chunk(2,1)[0]*2',
    'split': 'x.split(2,1)[1]*2',
    'index_select': 'x.index_select(1,i)',
    'gather': 'x.gather(1,(x[:,:2]*4).long())',
    'scatter': 'torch.zeros_like(x).scatter(1,(x[:,:2]*4).long(),x[:,:2])',
    'scatter_add': 'x.scatter_add(1,(x[:,:2]*4).long(),x[:,:2])',
    'index_add': 'x.index_add(1,i,x[:,:4])',
    'index_copy': 'x.index_copy(1,i,x[:,:4])',
    'index': 'x[:,i]',
    'index2': 'x[:,i,i]',
    'index_put': 'x.index_put([torch.zeros(1,dtype=torch.long)],x[0:1])',
    'index_fill': 'x.index_fill(1,i,0.5)',
    'take_along': 'torch.take_along_dim(x,(x[:,:2]*4).long(),1)',
    'masked_select_like': 'x*(x>0.5)',
    'flip': 'x.flip(1)',
    'roll': 'x.roll(1,1)',
    'repeat': 'x.repeat(1,2,1,1)',
    'repeat_interleave': 'x.repeat_interleave(2,1)',
    'tile': 'x.tile(1,2,1,1)',
    'expand': 'x[:,:1].expand(-1,6,-1,-1)*2',
    'reshape': 'x.reshape(x.size(0),-1)',
    'flatten': 'x.flatten(1)',
    'view_perm': 'x.permute(0,2,3,1).contiguous()',
    'clone': 'x.clone()',
    'contiguous': 'x.contiguous()',
    'tril': 'x.tril()',
    'triu': 'x.triu()',
    'diagonal': 'x.diagonal(0,2,3)*2',
    'movedim': 'x.movedim(1,3)*2',
    'unfold': 'F.unfold(x,[2,2])',
    'pad': 'F.pad(x,[1,1])',
    'pad_replicate': "F.pad(x,[1,1,1,1],mode='replicate')",
    'pad_circular': "F.pad(x,[1,1,1,1],mode='circular')",
    'pixel_shuffle': 'F.pixel_shuffle(x[:,:4],2)',
    'pixel_unshuffle': 'F.pixel_unshuffle(x[:,:,:,:4],2)',
    'interpolate': "F.interpolate(x,scale_factor=2.0,mode='nearest')",
    'bilinear': "F.interpolate(x,scale_factor=2.0,mode='bilinear')",
    'grid_sample': 'F.grid_sample(x,torch.tanh(x[:,:2].permute(0,2,3,1)),align_corners=False)',
    'searchsorted': 'torch.searchsorted(w,x)',
    'bucketize': 'torch.bucketize(x,w)',
    'one_hot': 'F.one_hot((x*5).long(),6)',
    'embedding': 'F.embedding((x*4).long(),m)',
    'linear': 'F.linear(x,m.t())',
    'matmul': 'x@x.transpose(2,3)',
    'matmul_w': 'x@m',
    'bmm': 'torch.bmm(x.flatten(0,1),x.flatten(0,1).transpose(1,2))',
    'einsum': "torch.einsum('bchw,bchv->bcwv',x,x)",
    'conv2d': 'F.conv2d(x,k)',
    'conv1d': 'F.conv1d(x.flatten(2),k1)',
    'max_pool2d': 'F.max_pool2d(x,2)',
    'avg_pool2d': 'F.avg_pool2d(x,2)',
    'adaptive_avg': 'F.adaptive_avg_pool2d(x,[1,1])',
    'adaptive_avg2': 'F.adaptive_avg_pool2d(x,[2,2])',
    'adaptive_max': 'F.adaptive_max_pool2d(x,[2,2])',
    'max_pool1d': 'F.max_pool1d(x.flatten(2),2)',
    'avg_pool1d': 'F.avg_pool1d(x.flatten(2),2)',
    'sdpa': 'F.scaled_dot_product_attention(x,x,x)',
    'cdist': 'torch.cdist(x,x)',
    'glu': 'F.glu(x,1)',
    'prelu': 'F.prelu(x,v)',
    'bernoulli_like': 'torch.zeros_like(x)+x',
    'ones_like': 'torch.ones_like(x)+x',
    'full_like': 'torch.full_like(x,2.0)*x',
    'new_zeros': 'x.new_zeros([x.size(0),3])+x[:,:3,0,0]',
    'isnan': 'torch.isnan(x)',
    'nan_to_num': 'torch.nan_to_num(x)',
    'hardswish': 'F.hardswish(x)',
    'softplus': 'F.softplus(x)',
    'logit': 'torch.logit(x,1e-6)',
    'atan2': 'torch.atan2(x,x)',
    'maximum': 'torch.maximum(x,x*0.9)',
    'hypot': 'torch.hypot(x,x)',
    'xlogy': 'torch.xlogy(x,x)',
    'bitwise': '(x*8).long()&3',
    'erfinv': 'torch.erfinv(x*0.5)',
    'polygamma': 'torch.polygamma(1,x)',
    'addmm': 'torch.addmm(w6,x[:,0,0],m)',
    'baddbmm': 'torch.baddbmm(x[:,0,:,:],x[:,0,:,:2],x[:,0,:2,:])',
    'diff': 'x.diff(dim=1)',
    'rot90': 'x.rot90(1,[2,3])',
    'cross': 'torch.linalg.cross(x[:,:3],x[:,1:4],dim=1)',
    'histc': 'x.histc(4)',
    'unbind': 'x.unbind(1)[0]*2',
    'hardtanh_': 'F.hardtanh(x)',
    'dropout': 'F.dropout(x,0.5,False)',
    'channel_shuffle': 'F.channel_shuffle(x,2)',
    'renorm': 'torch.renorm(x,2.0,0,1.0)',
    'local_response': 'F.local_response_norm(x,2)',
    'conv_transpose2d': 'F.conv_transpose2d(x, k_transposed)',
    'pad_reflect': "F.pad(x, [1, 1, 1, 1], mode='reflect')",
    'trapezoid': 'torch.trapezoid(x, dim=1)',
    'detach': '(x*2).detach()+x.detach()',
    'data': '(x*2).data*2',
    'T': '(x*2)[:,0,0].T*2',
    'mT': '(x*2).mT*2',
    'H': '(x*2)[:,0,0].H*2',
    'cpu': '(x*2).cpu()*2',
    'positive': 'torch.positive(x*2)*2',
    'resolve_conj': '(x*2).resolve_conj()*2',
    'moveaxis': 'torch.moveaxis(x,[0,2],[3,1])*2',
    'moveaxis_int': 'torch.moveaxis(x,1,-1)*2',
    'movedim_list': 'x.movedim([3,0],[0,1])*2',
    'swapaxes': 'torch.swapaxes(x,1,2)*2',
    'swapdims': 'torch.swapdims(x,-1,2)*2',
    'ravel': 'torch.ravel(x*2)*2',
    'view_as': '(x*2).contiguous().view_as(x.contiguous().flatten(1))*2',
    'reshape_as': '(x*2).reshape_as(x.flatten(1))*2',
    'unflatten': 'x.unflatten(1,[2,3])*2',
    'unfold_dim': 'x.unfold(2,2,1)*2',
    'split_sizes': 'torch.split(torch.cat([x,x]),[x.size(0),x.size(0)])[1]*2',
    'tensor_split': 'torch.tensor_split(x,4,1)[1]*2',
    'tensor_split_at': 'torch.tensor_split(x,[1,4],1)[1]*2',
    'hsplit': 'torch.hsplit(x,2)[1]*2',
    'vsplit': 'torch.vsplit(torch.cat([x,x]),[x.size(0)])[1]*2',
    'dsplit': 'torch.dsplit(x,2)[1]*2',
    'unsafe_chunk': 'torch.unsafe_chunk(x,2,1)[1]*2',
    'unsafe_split': 'torch.unsafe_split(x,2,1)[1]*2',
    'atleast_3d': 'torch.atleast_3d(x[:,0,0])*2',
    'atleast_1d': 'torch.atleast_1d(x)*2',
    'broadcast_tensors': 'torch.broadcast_tensors(x,x[:,:1])[1]*2',
    'meshgrid': "torch.meshgrid([x[:,0,0,0],w],indexing='ij')[0]*2",
    'meshgrid_xy': "torch.meshgrid([x[:,0,0,0],w],indexing='xy')[0]*2",
    'rsub': 'torch.rsub(x,x[:,:1])',
    'rsub_number': '1.5-x',
    'where_number': 'torch.where(x>0.5,x,1.5)',
    'where_number_first': 'torch.where(x>0.5,1.5,x)',
    'where_numbers': 'torch.where(x>0.5,1.5,2.5)',
    'divide': 'torch.divide(x,2.5)',
    'subtract': 'torch.subtract(x,2.5)',
    'isclose': 'torch.isclose(x,x*1.1)',
    'fill': 'torch.fill(x,2.5)',
    'masked_scatter': 'x.masked_scatter(x>0.5,x*2)',
    'var_mean_all': 'torch.var_mean(x)[0]',
    'std_mean_all': 'torch.std_mean(x)[1]',
    'trace': 'x[:,:,0,0].trace()',
    'cosine_similarity': 'F.cosine_similarity(x,x*x,1)',
    'pairwise_distance': 'F.pairwise_distance(x,x*x)',
    'cov': 'torch.cov(x[:,:,0,0])',
    'corrcoef': 'torch.corrcoef(x[:,:,0,0])',
    'diag_embed': 'torch.diag_embed(x[:,:,0,0],1)*2',
    'block_diag': 'torch.block_diag(x[:,:,0,0],m)*2',
    'eye': 'torch.eye(x.size(0))*2',
    'eye_m': 'torch.eye(x.size(0),3)*2',
    'linspace': 'torch.linspace(0.0,1.0,x.size(0))*2',
    'tensor_of_size': 'x*torch.tensor(x.size(0))',
    'affine_grid': 'F.affine_grid(x[:,:2,:3,0].contiguous(),[x.size(0),1,4,5],align_corners=False)',
    'fake_quantize': 'torch.fake_quantize_per_tensor_affine(x,0.01,3,0,255)',
    'rot90_twice': 'x.rot90(2,[2,3])',
    'gru_cell': 'torch.gru_cell(x[:,:5,0,0],x[:,:,0,1].contiguous(),wi,wh)',
    'lstm_cell': 'torch.lstm_cell(x[:,:5,0,0],[x[:,:,0,1].contiguous(),x[:,:,0,2].contiguous()],w4,h4)[1]',
    'rnn_cell': 'torch.rnn_tanh_cell(x[:,:5,0,0],x[:,:,0,1].contiguous(),m.t(),m6)',
    'min_of_sizes': 'x*min(x.size(0),40)',
    'max_of_sizes': 'torch.zeros([max(x.size(0),1)])*2',
    'min_of_list': 'x*min([x.size(0),50,70])',
    'neg_of_size': 'x*(-x.size(0))',
    'abs_of_size': 'x*abs(x.size(0)-30)',
    'shifts_of_size': 'x*((x.size(0)<<2)+(x.size(0)>>1))',
    'divmod_of_size': 'x*(divmod(x.size(0),3)[0]+divmod(x.size(0),3)[1])',
    'sum_of_sizes': 'x*sum([x.size(0),2])',
    'chosen_size': 'x*(x.size(0) if x.size(0)>1 else 1)',
    'chosen_tensor': 'x*2 if x.size(0)>1 else x*3',
    'strides': 'x*x.stride(0)+x.stride()[1]',
    'max_pool3d': 'F.max_pool3d(x.unsqueeze(1),2)',
    'norm_in_double': 'torch.norm(x,2.0,dtype=torch.float64)',
    'is_floating': 'x*2 if x.is_floating_point() else x',
}

# Pairs that record a plan for each size.
PINNING: set[tuple[str, str]] = set()

SOURCE = """
class Applies(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(5).sort()[0])
        self.v = torch.nn.Parameter(torch.rand(6))
        self.w6 = torch.nn.Parameter(torch.rand(6))
        self.m = torch.nn.Parameter(torch.rand(5, 6))
        self.k = torch.nn.Parameter(torch.rand(7, 6, 2, 2))
        self.k_transposed = torch.nn.Parameter(torch.rand(6, 7, 2, 2))
        self.k1 = torch.nn.Parameter(torch.rand(7, 6, 2))
        self.m6 = torch.nn.Parameter(torch.rand(6, 6))
        self.wi, self.wh = torch.nn.Parameter(torch.rand(18, 5)), torch.nn.Parameter(torch.rand(18, 6))
        self.w4, self.h4 = torch.nn.Parameter(torch.rand(24, 5)), torch.nn.Parameter(torch.rand(24, 6))
        self.register_buffer('i', torch.tensor([0, 2, 3, 1]))

    def forward(self, x: torch.Tensor):
        w, v, w6, m, k, k1, i = self.w, self.v, self.w6, self.m, self.k, self.k1, self.i
        k_transposed, m6, wi, wh, w4, h4 = self.k_transposed, self.m6, self.wi, self.wh, self.w4, self.h4
        return EXPRESSION
"""


def made(name):
    """A module of the operator. TorchScript reads sources with linecache."""
    text = SOURCE.replace('EXPRESSION', OPERATORS[name])
    file = f'<{name}>'
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    names = {'torch': torch, 'F': torch.nn.functional, '__name__': __name__}
    exec(compile(text, file, 'exec'), names)
    torch.manual_seed(1)
    return names['Applies']().eval()


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('name', OPERATORS)
def test_one_plan_serves_all_sizes(name, layout):
    eager = made(name)
    module = sr.StaticModule(torch.jit.script(eager))
    with torch.no_grad():
        for batch in [*range(2, 10), *range(2, 10)]:
            x = LAYOUTS[layout](batch)
            result, expected = module(x), eager(x)
            torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-4, equal_nan=True)
            assert result.stride() == expected.stride()
    plans = len(module.report()['plans'])
    assert (plans != 1) == ((name, layout) in PINNING), module.report()['pinned_by']


def test_few_pairs_pin():
    assert len(PINNING) <= 10
