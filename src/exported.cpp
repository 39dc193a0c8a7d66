// Registers the reader of torch.export archives, for programs that link the compiled operators.
#include <sr/exported.hpp>
