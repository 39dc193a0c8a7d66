"""Set-ups that several definitions share."""

from core.api import GroupedSetup

# One element, so that y.backward() needs no gradient argument and arithmetic costs almost nothing.
SCALARS = GroupedSetup(
    py_setup='''
        x = torch.ones(1, requires_grad=True)
        w = torch.full((1,), 0.5, requires_grad=True)
    ''',
    cpp_setup='''
        auto x = torch::ones({1}, torch::requires_grad());
        auto w = torch::full({1}, 0.5, torch::requires_grad());
    ''')

MATRIX = GroupedSetup(
    py_setup='''
        x = torch.arange(16.).view(4, 4)
        mask = torch.eye(4, dtype=torch.bool)
        index = torch.tensor([0, 3, 1])
    ''',
    cpp_setup='''
        using torch::indexing::None;
        using torch::indexing::Slice;
        auto x = torch::arange(16.).view({4, 4});
        auto mask = torch::eye(4, torch::kBool);
        auto index = torch::tensor({0, 3, 1});
    ''')

# The compiler would remove code without an effect.
METADATA_OF_MATRIX = GroupedSetup(MATRIX.py_setup, MATRIX.cpp_setup, '''
    template <class T>
    void keep(const T& value) {
      asm volatile("" : : "r"(&value) : "memory");
    }
''')

PAIR = GroupedSetup(
    py_setup='''
        x = torch.ones(4, 4)
        w = torch.full((4, 4), 0.5)
        row = torch.ones(4)
    ''',
    cpp_setup='''
        auto x = torch::ones({4, 4});
        auto w = torch::full({4, 4}, 0.5);
        auto row = torch::ones({4});
    ''')

ROW = GroupedSetup(
    py_setup='x = torch.linspace(-1, 1, 16).view(1, 16)',
    cpp_setup='auto x = torch::linspace(-1, 1, 16).view({1, 16});')

IMAGE = GroupedSetup(py_setup='x = torch.linspace(-1, 1, 64).view(1, 1, 8, 8)')

DEEP_WIDE = GroupedSetup(py_setup='''
    ad, user = torch.linspace(-1, 1, 32).view(1, 1, 32), torch.ones(1, 1, 32)
    wide = torch.linspace(-3, 3, 50).view(1, 50)
    class DeepWide(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mu, self.sigma = torch.nn.Parameter(torch.randn(1, 50)), torch.nn.Parameter(torch.randn(1, 50))
            self.last = torch.nn.Linear(51, 1)
        def forward(self, ad, user, wide):
            bounded = torch.clamp((wide + self.mu) * self.sigma, 0., 10.)
            product = torch.flatten(torch.bmm(ad, torch.transpose(user, 1, 2)), 1)
            return torch.sigmoid(self.last(torch.cat([product, bounded], 1)))
''')
