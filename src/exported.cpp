// Registers what reads archives of torch.export, for programs that link the compiled operators.
#include <sr/exported.hpp>
