// A file that is mapped into memory.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sr/base/error.hpp>

namespace sr::detail {

// The system reads a page of the file when it is first used, and all processes that map the file share the
// page. A process that writes to a page gets a copy of it; the file does not change. No process may write to
// the file or shorten it in the meantime: bytes() would change, and a process that reads beyond the new end
// is killed (SIGBUS).
class MappedFile {
 public:
  // Throws LoadError.
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(path, "opened for reading");
    struct stat status {};
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(file);
      throw LoadError(path + " is not a file; expected one written by torch.export.save.");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ != 0) data_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    const int why = errno;
    ::close(file);
    errno = why;
    if (data_ == MAP_FAILED) fail(path, "mapped");
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (size_ != 0) munmap(data_, size_);
  }

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  [[noreturn]] static void fail(const std::string& path, const char* what) {
    throw LoadError("The file " + path + " cannot be " + what + ": " + std::strerror(errno) + ".");
  }

  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sr::detail
