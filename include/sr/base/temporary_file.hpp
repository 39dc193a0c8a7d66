// A file without a name on a disk, for bytes that need not stay in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace sr::detail {

// The system removes the file when its descriptor and all of its mappings are closed.
class TemporaryFile {
 public:
  // In the directory that TMPDIR names, else in /var/tmp or /tmp. Empty if there is none on a local disk.
  static std::optional<TemporaryFile> make() {
    const char* const chosen = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nobody here sets it
    if (chosen != nullptr && *chosen != '\0') return make_in(chosen);
    auto made = make_in("/var/tmp");
    return made ? std::move(made) : make_in("/tmp");
  }

  TemporaryFile(TemporaryFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (file_ >= 0) ::close(file_);
  }

  int descriptor() const { return file_; }

  // Writes `size` bytes at the beginning. Returns whether there was room for all of them.
  bool write(const std::byte* bytes, std::size_t size) const {
    // Beyond this limit the system sends SIGXFSZ, which ends a process that is not prepared for it.
    struct rlimit limit {};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || (limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur))
      return false;
    std::size_t done = 0;
    while (done < size) {
      const ssize_t written = pwrite(file_, bytes + done, size - done, static_cast<off_t>(done));
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
    if (file < 0) {  // some file systems can not make one without a name
      std::string path = directory + "/sr-XXXXXX";
      file = mkostemp(path.data(), O_CLOEXEC);
      if (file >= 0) unlink(path.c_str());
    }
    if (file < 0) return std::nullopt;
    TemporaryFile made(file);
    return made.is_on_local_disk() ? std::optional(std::move(made)) : std::nullopt;
  }

  // Other file systems keep the bytes in memory, or lose them with a connection. Their numbers are from
  // linux/magic.h and from the manual page of statfs(2).
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
