// Catch2, version 2 or 3. Its main is compiled separately.
#pragma once

// LibTorch's logging also defines CHECK, in several headers: Catch2's definition must come last.
#if __has_include(<c10/util/Logging.h>)
#include <c10/util/Logging.h>
#endif

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#elif __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>  // version 2 declares Approx in the global namespace
#endif
