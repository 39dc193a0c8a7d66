// The program without a library: this file compiles it.
#define SR_HEADER_ONLY
#include "sr_program.cpp"
