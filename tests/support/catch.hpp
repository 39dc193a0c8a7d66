// Catch2, whichever major version is installed. Compiled once: the main comes from elsewhere.
#pragma once

// LibTorch's logging defines CHECK as well, in whichever of its headers comes first: Catch2's has to be the
// last.
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
#include <catch2/catch.hpp>  // version 2 brings Approx into the global namespace itself
#endif
