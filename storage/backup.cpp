#include "storage/maintenance.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

namespace lycosa::storage {

namespace fs = std::filesystem;

namespace {

constexpr const char* manifest_name = "MANIFEST";
constexpr const char* manifest_head = "lycosa backup 1";
constexpr std::size_t chunk = 1 << 20;

auto os_error(const std::string& path) {
  return fail(errno == ENOSPC ? errc::no_space : errc::io_error, path, std::strerror(errno));
}

/// Unlinks what was not finished.
struct temporary {
  std::string path;
  ~temporary() {
    std::error_code ec;
    if (!path.empty()) fs::remove_all(path, ec);
  }
};

struct descriptor {
  int fd;
  explicit descriptor(int f) : fd(f) {}
  ~descriptor() {
    if (fd >= 0) ::close(fd);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
};

class digest {
public:
  digest() { XXH3_64bits_reset(&state_); }
  void add(const void* data, std::size_t n) { XXH3_64bits_update(&state_, data, n); }
  [[nodiscard]] std::string text() const {
    char hex[17];
    std::snprintf(hex, sizeof hex, "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits_digest(&state_)));
    return hex;
  }

private:
  XXH3_state_t state_;
};

result<void> sync_parent(const std::string& path) {
  auto parent = fs::path(path).parent_path();
  const descriptor d(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (d.fd < 0 || ::fsync(d.fd) != 0) return os_error(parent.string());
  return {};
}

class writer {
public:
  explicit writer(int fd, std::string name) : a_(archive_write_new()), name_(std::move(name)) {
    ok_ = archive_write_add_filter_zstd(a_) == ARCHIVE_OK
          && archive_write_set_format_pax_restricted(a_) == ARCHIVE_OK
          && archive_write_open_fd(a_, fd) == ARCHIVE_OK;
  }
  ~writer() { archive_write_free(a_); }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  bool begin(const std::string& path, std::uint64_t size) {
    auto* e = archive_entry_new();
    archive_entry_set_pathname(e, path.c_str());
    archive_entry_set_size(e, static_cast<la_int64_t>(size));
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0640);
    ok_ = ok_ && archive_write_header(a_, e) == ARCHIVE_OK;
    archive_entry_free(e);
    return ok_;
  }
  bool data(const void* p, std::size_t n) {
    return ok_ = ok_ && archive_write_data(a_, p, n) == static_cast<la_ssize_t>(n);
  }
  bool close() { return ok_ = ok_ && archive_write_close(a_) == ARCHIVE_OK; }
  [[nodiscard]] tl::unexpected<error> failure() const {
    const char* why = archive_error_string(a_);
    return fail(archive_errno(a_) == ENOSPC ? errc::no_space : errc::io_error, name_,
                why != nullptr ? why : "cannot be written");
  }

private:
  archive* a_;
  std::string name_;
  bool ok_ = true;
};

/// Only what a backup consists of; an archive cannot write elsewhere.
bool expected_path(std::string_view p) {
  if (p == manifest_name || p == "catalog/data.mdb") return true;
  constexpr std::string_view head = "shard-", tail = "/data.mdb";
  if (!p.starts_with(head) || !p.ends_with(tail) || p.size() < head.size() + tail.size() + 3)
    return false;
  const auto number = p.substr(head.size(), p.size() - head.size() - tail.size());
  return number.size() <= 5 && number.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Unpacks into `dir` and gives the digests of what came out, and the manifest's text.
result<std::map<std::string, std::string>> unpack(const std::string& in, const std::string& dir,
                                                  std::string& manifest) {
  std::unique_ptr<archive, int (*)(archive*)> a(archive_read_new(), archive_read_free);
  archive_read_support_filter_zstd(a.get());
  archive_read_support_format_tar(a.get());
  const auto damaged = [&]() {
    const char* why = archive_error_string(a.get());
    return fail(errc::corrupt, in, std::string("not a whole backup: ") + (why ? why : "damaged"));
  };
  if (archive_read_open_filename(a.get(), in.c_str(), chunk) != ARCHIVE_OK) {
    if (::access(in.c_str(), R_OK) != 0) return os_error(in);
    return damaged();
  }
  std::map<std::string, std::string> digests;
  std::vector<char> buffer(chunk);
  for (;;) {
    archive_entry* e = nullptr;
    const int rc = archive_read_next_header(a.get(), &e);
    if (rc == ARCHIVE_EOF) return digests;
    if (rc != ARCHIVE_OK) return damaged();
    const char* raw = archive_entry_pathname(e);
    const std::string path = raw != nullptr ? raw : "";
    if (!expected_path(path) || archive_entry_filetype(e) != AE_IFREG || digests.contains(path))
      return fail(errc::corrupt, in, "not a backup: it holds " + path);
    const auto target = dir + "/" + path;
    std::error_code ec;
    fs::create_directories(fs::path(target).parent_path(), ec);
    const descriptor out(::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    if (out.fd < 0) return os_error(target);
    digest sum;
    for (;;) {
      const auto n = archive_read_data(a.get(), buffer.data(), buffer.size());
      if (n < 0) return damaged();
      if (n == 0) break;
      const auto size = static_cast<std::size_t>(n);
      sum.add(buffer.data(), size);
      if (path == manifest_name) manifest.append(buffer.data(), size);
      for (std::size_t done = 0; done < size;) {
        const auto w = ::write(out.fd, buffer.data() + done, size - done);
        if (w < 0 && errno != EINTR) return os_error(target);
        if (w > 0) done += static_cast<std::size_t>(w);
      }
    }
    if (::fsync(out.fd) != 0) return os_error(target);
    digests[path] = sum.text();
  }
}

result<void> compare(const std::string& in, const std::string& manifest,
                     std::map<std::string, std::string> digests) {
  digests.erase(manifest_name);
  std::istringstream lines(manifest);
  std::string line;
  if (!std::getline(lines, line) || line != manifest_head)
    return fail(line.starts_with("lycosa backup ") ? errc::incompatible : errc::corrupt, in,
                "its manifest is not one this version knows");
  std::string sum, path;
  while (lines >> sum >> path) {
    auto it = digests.find(path);
    if (it == digests.end() || it->second != sum)
      return fail(errc::corrupt, in, path + " is damaged or missing");
    digests.erase(it);
  }
  if (!digests.empty())
    return fail(errc::corrupt, in, digests.begin()->first + " is not in its manifest");
  return {};
}

} // namespace

result<void> backup_data_dir(const data_dir& source, const std::string& out) {
  std::error_code ec;
  if (fs::exists(out, ec)) return fail(errc::conflict, out, "exists already");
  if (source.copies.empty())
    return fail(errc::invalid_argument, "data", "a store in memory has nothing to back up");
  temporary whole{out + ".incomplete"}, part{out + ".part"};
  const descriptor target(
      ::open(whole.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
  if (target.fd < 0) return os_error(whole.path);
  writer tar(target.fd, out);
  std::string manifest = std::string(manifest_head) + "\n";
  std::vector<char> buffer(chunk);
  for (const auto& c : source.copies) {
    // A tar member begins with its size, which a compacted copy shows only when it is done.
    const descriptor copy(::open(part.path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
    if (copy.fd < 0) return os_error(part.path);
    if (auto ok = c.write(copy.fd); !ok) return ok;
    struct stat st {};
    if (::fstat(copy.fd, &st) != 0 || ::lseek(copy.fd, 0, SEEK_SET) != 0)
      return os_error(part.path);
    if (!tar.begin(c.path, static_cast<std::uint64_t>(st.st_size))) return tar.failure();
    digest sum;
    for (;;) {
      const auto n = ::read(copy.fd, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return os_error(part.path);
      if (n == 0) break;
      sum.add(buffer.data(), static_cast<std::size_t>(n));
      if (!tar.data(buffer.data(), static_cast<std::size_t>(n))) return tar.failure();
    }
    manifest += sum.text() + " " + c.path + "\n";
  }
  if (!tar.begin(manifest_name, manifest.size()) || !tar.data(manifest.data(), manifest.size())
      || !tar.close())
    return tar.failure();
  if (::fsync(target.fd) != 0) return os_error(whole.path);
  if (::rename(whole.path.c_str(), out.c_str()) != 0) return os_error(out);
  whole.path.clear();
  return sync_parent(out);
}

result<void> backup_data_dir(const std::string& dir, const std::string& out) {
  open_options o;
  o.dir = dir;
  o.create = false;
  o.read_only = true;
  auto source = open_data_dir(o);
  if (!source) return tl::unexpected(source.error());
  return backup_data_dir(**source, out);
}

result<void> restore_data_dir(const std::string& in, const std::string& target) {
  auto dir = target;
  while (dir.size() > 1 && dir.back() == '/')
    dir.pop_back();
  std::error_code ec;
  if (fs::exists(dir, ec) && (!fs::is_directory(dir, ec) || !fs::is_empty(dir, ec)))
    return fail(errc::conflict, dir, "is not an empty directory");
  if (const auto parent = fs::path(dir).parent_path(); !parent.empty())
    fs::create_directories(parent, ec);
  temporary made{dir + ".restoring-XXXXXX"};
  if (::mkdtemp(made.path.data()) == nullptr) {
    const auto failed = os_error(made.path);
    made.path.clear();
    return failed;
  }
  std::string manifest;
  auto digests = unpack(in, made.path, manifest);
  if (!digests) return tl::unexpected(digests.error());
  if (auto ok = compare(in, manifest, std::move(*digests)); !ok) return ok;
  fs::remove(made.path + "/" + manifest_name, ec);
  {
    open_options o;
    o.dir = made.path;
    o.create = false;
    o.read_only = true;
    if (auto opened = open_data_dir(o); !opened) return tl::unexpected(opened.error());
  }
  for (const auto& folder : fs::directory_iterator(made.path, ec))
    if (auto ok = sync_parent(folder.path().string() + "/data.mdb"); !ok) return ok;
  if (auto ok = sync_parent(made.path + "/x"); !ok) return ok;
  ::chmod(made.path.c_str(), 0750);
  if (::rename(made.path.c_str(), dir.c_str()) != 0) return os_error(dir);
  made.path.clear();
  return sync_parent(dir);
}

} // namespace lycosa::storage
