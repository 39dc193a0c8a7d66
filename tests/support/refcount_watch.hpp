// Counts writes to the reference counts of chosen objects with the help of the processor (x86-64, Linux).
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <c10/util/intrusive_ptr.h>

namespace sr::test {

// The objects' pages are read-only while this object lives. A write there traps; the handler looks at it,
// lets it run alone with the page writable (trap flag), and protects the page again. At most one instance,
// for one thread; the objects must outlive it.
class RefcountWatch {
 public:
  explicit RefcountWatch(const std::vector<const c10::intrusive_ptr_target*>& objects) {
    for (const c10::intrusive_ptr_target* object : objects) {
      const auto begin = reinterpret_cast<std::uintptr_t>(object) + sizeof(void*);  // after the virtual table
      words_.emplace_back(begin, reinterpret_cast<std::uintptr_t>(object) + sizeof(*object));
      pages_.insert(begin & ~(kPage - 1));
    }
    current_ = this;
    set_handler(SIGSEGV, &on_write, before_[0]);
    set_handler(SIGTRAP, &on_step, before_[1]);
    protect(PROT_READ);
  }
  RefcountWatch(const RefcountWatch&) = delete;
  RefcountWatch& operator=(const RefcountWatch&) = delete;
  ~RefcountWatch() {
    protect(PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &before_[0], nullptr);
    sigaction(SIGTRAP, &before_[1], nullptr);
    current_ = nullptr;
  }

  std::size_t writes() const { return writes_; }

 private:
  static constexpr std::uintptr_t kPage = 4096;
  static constexpr greg_t kTrapFlag = 0x100;

  using Handler = void (*)(int, siginfo_t*, void*);
  static void set_handler(int number, Handler handler, struct sigaction& before) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(number, &action, &before);
  }

  static void on_write(int, siginfo_t* info, void* context) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (!current_->pages_.contains(address & ~(kPage - 1))) {
      std::signal(SIGSEGV, SIG_DFL);  // a real fault: it happens again, and ends the program
      return;
    }
    for (const auto& [begin, end] : current_->words_)
      current_->writes_ += address >= begin && address < end ? 1 : 0;
    current_->protect(PROT_READ | PROT_WRITE);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  }

  static void on_step(int, siginfo_t*, void* context) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    current_->protect(PROT_READ);
  }

  void protect(int how) const {
    for (const std::uintptr_t page : pages_) mprotect(reinterpret_cast<void*>(page), kPage, how);
  }

  inline static RefcountWatch* current_ = nullptr;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> words_;
  std::set<std::uintptr_t> pages_;
  std::array<struct sigaction, 2> before_{};
  std::size_t writes_ = 0;
};

}  // namespace sr::test
