#include "fuzz/archives/loading.hpp"

#include <algorithm>
#include <exception>
#include <sstream>
#include <typeinfo>

#include <sr/error.hpp>
#include <sr/load.hpp>

#include "fuzz/archives/heap.hpp"

namespace sr::fuzz {

namespace {

Loading ending_of(const std::string& archive) {
  try {
    std::istringstream stream(archive);
    const StaticModule module = sr::load(stream);
    return {};
  } catch (const Error& error) {
    return {Ending::refused, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return {Ending::failed, std::string(typeid(error).name()) + ": " + error.what()};
  } catch (...) {
    return {Ending::failed, "an exception that is no std::exception"};
  }
}

}  // namespace

Loading load(const std::string& archive, std::int64_t most_bytes) {
  const HeapPeak heap;
  Loading loading = ending_of(archive);
  loading.peak_bytes = heap.bytes().value_or(0);
  if (loading.ending != Ending::failed && loading.peak_bytes > most_bytes) {
    loading = {Ending::failed,
               std::to_string(loading.peak_bytes) + " bytes of heap, allowed are " +
                   std::to_string(most_bytes) + "; " + loading.message,
               loading.peak_bytes};
  }
  return loading;
}

std::int64_t allowance(std::size_t archive_bytes, std::int64_t seed_peak) {
  constexpr std::int64_t kAlways = 16 << 20;
  return kAlways + 4 * std::max(seed_peak, static_cast<std::int64_t>(archive_bytes));
}

}  // namespace sr::fuzz
