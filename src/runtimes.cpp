// The runtimes and benchmarks of every planner that comes with sr.
#include <sr/impl/benchmark.hpp>
#include <sr/impl/individual_metrics.hpp>
#include <sr/impl/static_runtime.hpp>
#include <sr/memory/planners.hpp>

namespace sr {

template class StaticRuntime<memory::StandardResizing>;
template class StaticRuntime<memory::LinearScan>;
template class StaticRuntime<memory::GreedyBySize>;
template class StaticRuntime<memory::NoReuse>;
template class StaticRuntime<memory::StandardResizing, TimingObserver>;
template class StaticRuntime<memory::LinearScan, TimingObserver>;
template class StaticRuntime<memory::GreedyBySize, TimingObserver>;
template class StaticRuntime<memory::NoReuse, TimingObserver>;

template IndividualMetrics benchmark_individual_ops<memory::StandardResizing>(
    const StaticModule&, const std::vector<std::vector<c10::IValue>>&, const std::vector<KeywordArgs>&, int, int);
template double benchmark_model<memory::StandardResizing>(
    const StaticModule&, const std::vector<std::vector<c10::IValue>>&, const std::vector<KeywordArgs>&, int, int);
template void benchmark<memory::StandardResizing>(
    std::ostream&, const StaticModule&, const std::vector<std::vector<c10::IValue>>&,
    const std::vector<KeywordArgs>&, int, int, bool);
template IndividualMetrics benchmark_individual_ops<memory::LinearScan>(
    const StaticModule&, const std::vector<std::vector<c10::IValue>>&, const std::vector<KeywordArgs>&, int, int);
template double benchmark_model<memory::LinearScan>(
    const StaticModule&, const std::vector<std::vector<c10::IValue>>&, const std::vector<KeywordArgs>&, int, int);
template void benchmark<memory::LinearScan>(
    std::ostream&, const StaticModule&, const std::vector<std::vector<c10::IValue>>&,
    const std::vector<KeywordArgs>&, int, int, bool);
template IndividualMetrics benchmark_individual_ops<memory::GreedyBySize>(
    const StaticModule&, const std::vector<std::vector<c10::IValue>>&, const std::vector<KeywordArgs>&, int, int);
template double benchmark_model<memory::GreedyBySize>(
    const StaticModule&, const std::vector<std::vector<c10::IValue>>&, const std::vector<KeywordArgs>&, int, int);
template void benchmark<memory::GreedyBySize>(
    std::ostream&, const StaticModule&, const std::vector<std::vector<c10::IValue>>&,
    const std::vector<KeywordArgs>&, int, int, bool);
template IndividualMetrics benchmark_individual_ops<memory::NoReuse>(
    const StaticModule&, const std::vector<std::vector<c10::IValue>>&, const std::vector<KeywordArgs>&, int, int);
template double benchmark_model<memory::NoReuse>(
    const StaticModule&, const std::vector<std::vector<c10::IValue>>&, const std::vector<KeywordArgs>&, int, int);
template void benchmark<memory::NoReuse>(
    std::ostream&, const StaticModule&, const std::vector<std::vector<c10::IValue>>&,
    const std::vector<KeywordArgs>&, int, int, bool);

}  // namespace sr
