// An unnamed file on a local disk or in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace sr::detail {

// The kernel deletes the file when its descriptor is closed and no mapping of it is left.
class TemporaryFile {
 public:
  // Creates the file in the directory that TMPDIR names, or in /var/tmp or /tmp if TMPDIR is not set. Returns
  // nothing if the directory is not writable or not on a local disk.
  static std::optional<TemporaryFile> make() {
    const char* const chosen = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): sr never sets it
    if (chosen != nullptr && *chosen != '\0') return make_in(chosen);
    auto made = make_in("/var/tmp");
    return made ? std::move(made) : make_in("/tmp");
  }

  // Creates a file in memory. Returns nothing if the system does not allow it.
  static std::optional<TemporaryFile> make_in_memory() {
    const int file = memfd_create("sr", MFD_CLOEXEC);
    return file < 0 ? std::nullopt : std::optional(TemporaryFile(file));
  }

  TemporaryFile(TemporaryFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (file_ >= 0) ::close(file_);
  }

  int descriptor() const { return file_; }

  // Writes `size` bytes at `offset` of the file. Returns false if not all of them could be written.
  bool write(const std::byte* bytes, std::size_t size, std::size_t offset = 0) const {
    // A write beyond this limit raises SIGXFSZ, which terminates the process by default.
    struct rlimit limit {};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        (limit.rlim_cur != RLIM_INFINITY && offset + size > limit.rlim_cur))
      return false;
    std::size_t done = 0;
    while (done < size) {
      const ssize_t written = pwrite(file_, bytes + done, size - done, static_cast<off_t>(offset + done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      done += static_cast<std::size_t>(written);
    }
    return true;
  }

 private:
  explicit TemporaryFile(int file) : file_(file) {}

  static std::optional<TemporaryFile> make_in(const std::string& directory) {
    int file = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, S_IRUSR | S_IWUSR);
    if (file < 0) {  // not all file systems support O_TMPFILE
      std::string path = directory + "/sr-XXXXXX";
      file = mkostemp(path.data(), O_CLOEXEC);
      if (file >= 0) unlink(path.c_str());
    }
    if (file < 0) return std::nullopt;
    TemporaryFile made(file);
    return made.is_on_local_disk() ? std::optional(std::move(made)) : std::nullopt;
  }

  // The file systems listed here keep files in memory or depend on a network connection. Their numbers are
  // from linux/magic.h and from the manual page of statfs(2).
  bool is_on_local_disk() const {
    constexpr std::array<unsigned long, 9> kOthers{
        0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */, 0x6969 /* NFS */,
        0x517b /* SMB */,       0xff534d42 /* CIFS */,  0xfe534d42 /* SMB2 */,
        0x01021997 /* 9p */,    0x65735546 /* FUSE */,  0x00c36400 /* Ceph */};
    struct statfs system {};
    return fstatfs(file_, &system) == 0 &&
           std::ranges::count(kOthers, static_cast<unsigned long>(system.f_type)) == 0;
  }

  int file_;
};

}  // namespace sr::detail
