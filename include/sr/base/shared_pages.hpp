// Memory whose copies share each page until one of them writes it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <span>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include <sr/base/temporary_file.hpp>

namespace sr::detail {

// A private mapping (MAP_PRIVATE) of a file in memory (memfd_create). Several mappings can share one file. A
// write to a page makes a private copy of that page and does not change the file.
class SharedPages : public std::enable_shared_from_this<SharedPages> {
 public:
  using Pointer = std::shared_ptr<SharedPages>;
  static constexpr int kMostFiles = 256;  // in the process; each file needs a descriptor

  // Copies the parts into new pages. Each part begins at a page boundary; offset_behind() computes where the
  // next part begins. Returns null if the system cannot create the file or the mapping.
  static Pointer make(std::span<const std::span<const std::byte>> parts) {
    std::size_t size = 0;
    for (const auto part : parts) size = offset_behind(size, part.size());
    const auto made = size == 0 ? nullptr : map(make_file(), size);
    if (made == nullptr || ftruncate(made->file_->descriptor(), static_cast<off_t>(size)) != 0)
      return nullptr;
    std::size_t at = 0;
    for (const auto part : parts) {
      if (!made->file_->write(part.data(), part.size(), at)) return nullptr;
      at = offset_behind(at, part.size());
    }
    return made;
  }
  // Returns the first page boundary behind a part that begins at `offset` and has `size` bytes.
  static std::size_t offset_behind(std::size_t offset, std::size_t size) {
    return (offset + size + page_size() - 1) / page_size() * page_size();
  }

  // Returns the object whose memory() returned this pointer. Returns null for other memory.
  static SharedPages* of(const at::DataPtr& memory) {
    const Pointer* const pages = memory.cast_context<Pointer>(&release);
    return pages == nullptr ? nullptr : pages->get();
  }

  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  ~SharedPages() { munmap(data_, size_); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  // Returns a pointer to the byte at `offset`. The pointer keeps this object alive.
  at::DataPtr memory(std::size_t offset) {
    return {data() + offset, new Pointer(shared_from_this()), &release, c10::Device(c10::kCPU)};
  }

  // Returns another mapping with the same bytes. Copies the pages that were written since the file was made.
  // If more than a quarter of the pages were written, first writes all bytes to a new file and maps it at the
  // same address, so that later copies share these pages, too. Returns null if the system cannot create the
  // mapping. No thread may write to the memory during the call. Threads may call concurrently if no page was
  // written.
  Pointer share() {
    std::vector<std::size_t> written = written_pages();
    if (written.size() > pages() / 4 && begin_anew()) written.clear();
    Pointer copy = map(file_, size_);
    if (copy == nullptr) return copy;
    for (const std::size_t page : written)
      std::memcpy(copy->data() + page * page_size(), data() + page * page_size(), page_size());
    return copy;
  }

  // Returns the indices of the pages that may differ from the file. If `asks_kernel` is false, compares all
  // pages, as it does on systems without /proc/self/pagemap. For tests.
  std::vector<std::size_t> written_pages(bool asks_kernel = true) const {
    std::optional<std::vector<std::size_t>> written;
    if (asks_kernel) written = pages_of_process();
    return written ? *std::move(written) : different_pages();
  }

 private:
  using File = std::shared_ptr<const TemporaryFile>;

  SharedPages(File file, void* data, std::size_t size) : file_(std::move(file)), data_(data), size_(size) {}

  static void release(void* pages) { delete static_cast<Pointer*>(pages); }

  // Returns null if the system cannot create a file, or if kMostFiles exist.
  static File make_file() {
    static std::atomic<int> files = 0;
    auto made = files.load() < kMostFiles ? TemporaryFile::make_in_memory() : std::nullopt;
    if (!made) return nullptr;
    ++files;
    return File(new TemporaryFile(*std::move(made)), [](const TemporaryFile* file) {
      delete file;
      --files;
    });
  }

  static Pointer map(File file, std::size_t size) {
    if (file == nullptr) return nullptr;
    void* const data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file->descriptor(), 0);
    return data == MAP_FAILED ? nullptr : Pointer(new SharedPages(std::move(file), data, size));
  }

  static std::size_t page_size() {
    static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return size;
  }
  std::size_t pages() const { return size_ / page_size(); }

  // Maps a new file with the same bytes at the same address. Returns false if the system cannot create it.
  bool begin_anew() {
    File file = make_file();
    if (file == nullptr || !file->write(data(), size_, 0)) return false;
    constexpr int kWritable = PROT_READ | PROT_WRITE;
    if (mmap(data_, size_, kWritable, MAP_PRIVATE | MAP_FIXED, file->descriptor(), 0) == MAP_FAILED)
      return false;
    file_ = std::move(file);
    return true;
  }

  // Reads from the kernel which pages are private copies. Such pages are present or swapped out, and do not
  // belong to a file (Linux, Documentation/admin-guide/mm/pagemap.rst). Returns nullopt if it cannot be read.
  std::optional<std::vector<std::size_t>> pages_of_process() const {
    constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62;
    constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;
    const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (map < 0) return std::nullopt;
    std::vector<std::size_t> written;
    std::array<std::uint64_t, 512> entries{};
    const std::size_t first = reinterpret_cast<std::uintptr_t>(data_) / page_size();
    bool is_read = true;
    for (std::size_t at = 0; is_read && at < pages(); at += entries.size()) {
      const std::size_t count = std::min(entries.size(), pages() - at);
      const auto wanted = static_cast<ssize_t>(count * sizeof(entries[0]));
      const auto offset = static_cast<off_t>((first + at) * sizeof(entries[0]));
      is_read = pread(map, entries.data(), static_cast<std::size_t>(wanted), offset) == wanted;
      for (std::size_t i = 0; is_read && i < count; ++i) {
        const bool exists = (entries[i] & (kPresent | kSwapped)) != 0;
        if (exists && (entries[i] & kOfFile) == 0) written.push_back(at + i);
      }
    }
    close(map);
    return is_read ? std::optional(std::move(written)) : std::nullopt;
  }

  std::vector<std::size_t> different_pages() const {
    std::vector<std::size_t> written;
    void* const file = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_->descriptor(), 0);
    for (std::size_t page = 0; page < pages(); ++page) {
      const std::size_t at = page * page_size();
      const bool is_same = file != MAP_FAILED && std::memcmp(static_cast<const std::byte*>(file) + at,
                                                             data() + at, page_size()) == 0;
      if (!is_same) written.push_back(page);
    }
    if (file != MAP_FAILED) munmap(file, size_);
    return written;
  }

  File file_;
  void* data_;
  std::size_t size_;  // whole pages
};

}  // namespace sr::detail
