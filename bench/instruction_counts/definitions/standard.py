"""The suite: the statements on which runtimes are compared, and changes to sr are judged."""

from core.api import GroupedModules, GroupedStmts, GroupedVariants
from core.types import Runtime
from definitions.setup import DEEP_WIDE, IMAGE, MATRIX, METADATA_OF_MATRIX, PAIR, ROW, SCALARS

INDEXING = GroupedVariants(
    py_block='''
        # reading
        x[0]              # a row
        x[0, 0]           # an element
        x[1:3]            # some rows
        x[:, ::2]         # every second column
        x[None, :, 0]     # with a new dimension
        x[..., -1]        # an ellipsis
        x[mask]           # by a mask
        x[index]          # by indices
        # writing
        x[0] = 1          # a number into a row
        x[1:3, 1:3] = 2.  # a number into a block
        x[mask] = 0       # a number by a mask
        x[index] = 3.     # a number by indices
    ''',
    cpp_block='''
        // reading
        x.index({0});                        // a row
        x.index({0, 0});                     // an element
        x.index({Slice(1, 3)});              // some rows
        x.index({Slice(), Slice(None, None, 2)});  // every second column
        x.index({None, Slice(), 0});         // with a new dimension
        x.index({"...", -1});                // an ellipsis
        x.index({mask});                     // by a mask
        x.index({index});                    // by indices
        // writing
        x.index_put_({0}, 1);                // a number into a row
        x.index_put_({Slice(1, 3), Slice(1, 3)}, 2.);  // a number into a block
        x.index_put_({mask}, 0);             // a number by a mask
        x.index_put_({index}, 3.);           // a number by indices
    ''',
    setup=MATRIX)

METADATA = GroupedVariants(
    py_block='''
        x.dim()
        x.size(0)
        x.shape
        x.stride(0)
        x.numel()
        x.dtype
        x.requires_grad
        x.is_contiguous()
        x.data_ptr()
    ''',
    cpp_block='''
        keep(x.dim());
        keep(x.size(0));
        keep(x.sizes());
        keep(x.stride(0));
        keep(x.numel());
        keep(x.scalar_type());
        keep(x.requires_grad());
        keep(x.is_contiguous());
        keep(x.data_ptr());
    ''',
    setup=METADATA_OF_MATRIX)

ARITHMETIC = GroupedVariants(
    py_block='''
        y = x + w          # sum
        y = x + 1          # sum with a number
        y = x * row        # product with a row
        y = x / w          # quotient
        y = x.add(w, alpha=2)  # sum with a factor
        y = torch.relu(x)  # relu
        y = x @ w          # matrix product
        y = x.sum()        # sum of all
        y = x.t()          # transposed
    ''',
    cpp_block='''
        auto y = x + w;
        auto y = x + 1;
        auto y = x * row;
        auto y = x / w;
        auto y = x.add(w, 2);
        auto y = torch::relu(x);
        auto y = x.matmul(w);
        auto y = x.sum();
        auto y = x.t();
    ''',
    setup=PAIR, signature='f(x, w, row) -> y')

IN_PLACE = GroupedVariants(
    py_block='x += w\nx.mul_(w)\nx.zero_()', cpp_block='x += w;\nx.mul_(w);\nx.zero_();', setup=PAIR)

MODULES = {
    'product of scalars': GroupedStmts('y = x * w', 'auto y = x * w;', SCALARS, 'f(x, w) -> y',
                                       torchscript=True, autograd=True),
    'linear 16 -> 1': GroupedModules('torch.nn.Linear(16, 1)', 'torch::nn::Linear(16, 1)', setup=ROW,
                                     signature='f(x) -> y', torchscript=True, autograd=True, num_threads=(1, 2)),
    'layer norm 16': GroupedModules('torch.nn.LayerNorm(16)', setup=ROW, signature='f(x) -> y', torchscript=True),
    'relu': GroupedModules('torch.nn.ReLU()', 'torch::nn::ReLU()', setup=ROW, signature='f(x) -> y', torchscript=True)}

NETWORKS = {
    'perceptron 16-32-1': GroupedModules(
        'torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))',
        'torch::nn::Sequential(torch::nn::Linear(16, 32), torch::nn::ReLU(), torch::nn::Linear(32, 1))',
        setup=ROW, signature='f(x) -> y', torchscript=True, autograd=True),
    'deep and wide, batch 1': GroupedModules('DeepWide()', setup=DEEP_WIDE, signature='f(ad, user, wide) -> y',
                                             torchscript=True),
    'convolution and pooling': GroupedModules(
        'torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten())',
        setup=IMAGE, signature='f(x) -> y',
        torchscript=True)}


def chain(steps: int) -> str:
    """Models with a growing number of fusable steps: the slope is the cost of one step."""
    return 'y = x\n' + '\n'.join(['y = torch.relu(y * 0.5)'] * steps)


CHAINS = {f'{2 * steps} pointwise steps on 16': GroupedStmts(chain(steps), setup=ROW, signature='f(x) -> y',
                                                           torchscript=True) for steps in (1, 4)}

DEFINITIONS = {'indexing': INDEXING, 'metadata': METADATA, 'arithmetic': ARITHMETIC, 'in place': IN_PLACE,
               'modules': MODULES, 'networks': NETWORKS, 'chains': CHAINS}

# Only sr's own overhead; takes a few minutes.
QUICK_RUNTIMES = Runtime.SR_GENERAL, Runtime.SR_FRESH, Runtime.SR_INTO
QUICK = ('modules / product of scalars', 'modules / linear 16 -> 1', 'networks / perceptron 16-32-1',
         'networks / deep and wide, batch 1', 'chains / 8 pointwise steps on 16')
