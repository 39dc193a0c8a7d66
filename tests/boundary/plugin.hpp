// What the plugin tells the program: how often each implementation of its operator was called.
#pragma once

struct Calls {
  int functor = 0;     // the out variant for sr
  int dispatcher = 0;  // LibTorch's kernel for the same operator
};
Calls plugin_calls();
