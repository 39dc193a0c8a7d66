// What the program may ask of the plugin.
#pragma once

struct Calls {
  int functor = 0;     // of ours
  int dispatcher = 0;  // of LibTorch's kernel for the same operator
};
Calls plugin_calls();
