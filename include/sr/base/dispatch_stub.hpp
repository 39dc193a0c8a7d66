// ATen's kernel tables from outside ATen. The macros say which tables the LibTorch we link has, and must be
// the ones it was built with: without them the calls through DispatchStub do not link. The build files of sr
// define them for the whole program; a program that only includes headers must include this before any
// <ATen/native/...> header.
#pragma once

#if defined(__x86_64__)
#ifndef HAVE_AVX2_CPU_DEFINITION
#define HAVE_AVX2_CPU_DEFINITION
#endif
#ifndef HAVE_AVX512_CPU_DEFINITION
#define HAVE_AVX512_CPU_DEFINITION
#endif
#endif

#include <ATen/native/DispatchStub.h>
