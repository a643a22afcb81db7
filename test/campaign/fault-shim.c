/*
 * Makes the n-th call of a kind on the files below a folder fail, in the process that preloads this (LD_PRELOAD; tests only).
 *
 * It is told what to do by attempts to open paths that begin with "/.lake-faults ":
 *   "count FOLDER"                counts only
 *   "KIND N ERROR FOLDER"         the N-th call of that kind fails with that number of errno, or when it is 0 moves less than it was asked to
 *   "of FILE COMMAND"             the same for calls on paths that end with FILE alone (it has no blanks)
 *   "report"                      prints "counted A B C ..." by kind, and counts no more
 * When a call fails it prints "struck CALL PATH by LIBRARY".
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE, WRITEV, SYNC, OPEN, UNLINK, MKDIR, READ, RENAME, KINDS };
enum { FILES = 4096, PATHS = 512 };

static char folder[PATHS], file[64];
static char paths[FILES][PATHS];
static atomic_int counts[KINDS];
static int armed, kind_wanted = -1, n_wanted, error_wanted;

static void say(const char *text) { (void) !syscall(SYS_write, 1, text, strlen(text)); }

static int inside(const char *path) {
  size_t length = strlen(folder);
  return armed && path && length > 0 && strncmp(path, folder, length) == 0 && (path[length] == 0 || path[length] == '/');
}
static int ends_with(const char *path, const char *end) {
  size_t length = strlen(path), tail = strlen(end);
  return length >= tail && strcmp(path + length - tail, end) == 0;
}
static const char *path_of(int fd) { return armed && fd >= 0 && fd < FILES && paths[fd][0] && inside(paths[fd]) ? paths[fd] : NULL; }

/* -1: go on; else the number of errno to fail with, 0 for a short one. */
static int strike(int kind, const char *call, const char *path, void *caller) {
  char line[1024];
  Dl_info info;
  if (!path || !ends_with(path, file)) return -1;
  if (atomic_fetch_add(&counts[kind], 1) + 1 != n_wanted || kind != kind_wanted) return -1;
  const char *library = dladdr(caller, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
  snprintf(line, sizeof line, "struck %s %s by %s\n", call, path[strlen(folder)] ? path + strlen(folder) + 1 : ".", library ? library + 1 : "?");
  say(line);
  return error_wanted;
}
#define STRIKE(kind, call, path) strike(kind, call, path, __builtin_return_address(0))
#define FAIL_IF(kind, call, path, failed) do { int e_ = STRIKE(kind, call, path); if (e_ > 0) { errno = e_; return failed; } } while (0)

static int control(const char *path) {
  static const char prefix[] = "/.lake-faults ";
  char name[16], line[256];
  if (!path || strncmp(path, prefix, sizeof prefix - 1) != 0) return 0;
  path += sizeof prefix - 1;
  if (strcmp(path, "report") == 0) {
    int length = snprintf(line, sizeof line, "counted");
    for (int k = 0; k < KINDS; k++) length += snprintf(line + length, sizeof line - length, " %d", counts[k]);
    snprintf(line + length, sizeof line - length, "\n");
    say(line);
    armed = 0;
    return 1;
  }
  armed = 0;
  for (int k = 0; k < KINDS; k++) counts[k] = 0;
  kind_wanted = -1;
  int command = 0;
  if (sscanf(path, "of %63s %n", file, &command) == 1) path += command;
  else file[0] = 0;
  if (sscanf(path, "%15s %d %d %511[^\n]", name, &n_wanted, &error_wanted, folder) == 4) kind_wanted = atoi(name);
  else if (sscanf(path, "count %511[^\n]", folder) != 1) return 1;
  armed = 1;
  return 1;
}

static int opened(int fd, const char *path) {
  if (fd >= 0 && fd < FILES) {
    if (inside(path)) snprintf(paths[fd], PATHS, "%s", path);
    else paths[fd][0] = 0;
  }
  return fd;
}
static int do_open(const char *path, int flags, mode_t mode, void *caller) {
  if (control(path)) { errno = ENOENT; return -1; }
  int error = strike(OPEN, "open", inside(path) ? path : NULL, caller);
  if (error > 0) { errno = error; return -1; }
  return opened((int) syscall(SYS_openat, AT_FDCWD, path, flags, mode), path);
}
#define MODE(flags) mode_t mode = 0; if ((flags) & (O_CREAT | __O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }
int open(const char *path, int flags, ...) { MODE(flags) return do_open(path, flags, mode, __builtin_return_address(0)); }
int open64(const char *path, int flags, ...) { MODE(flags) return do_open(path, flags, mode, __builtin_return_address(0)); }
DIR *opendir(const char *path) {
  static DIR *(*real)(const char *);
  if (!real) real = (DIR *(*)(const char *)) dlsym(RTLD_NEXT, "opendir");
  FAIL_IF(OPEN, "opendir", inside(path) ? path : NULL, NULL);
  return real(path);
}
int close(int fd) {
  if (fd >= 0 && fd < FILES) paths[fd][0] = 0;
  return (int) syscall(SYS_close, fd);
}

static size_t shorter(size_t length) { return length > 512 ? 512 : length > 1 ? 1 : length; }
#define SHORT(kind, call, fd, length) do { int e_ = STRIKE(kind, call, path_of(fd)); if (e_ > 0) { errno = e_; return -1; } if (e_ == 0) (length) = shorter(length); } while (0)

ssize_t read(int fd, void *bytes, size_t length) { SHORT(READ, "read", fd, length); return syscall(SYS_read, fd, bytes, length); }
ssize_t pread(int fd, void *bytes, size_t length, off_t at) { SHORT(READ, "pread", fd, length); return syscall(SYS_pread64, fd, bytes, length, at); }
ssize_t pread64(int fd, void *bytes, size_t length, off64_t at) { SHORT(READ, "pread", fd, length); return syscall(SYS_pread64, fd, bytes, length, at); }
ssize_t write(int fd, const void *bytes, size_t length) { SHORT(WRITE, "write", fd, length); return syscall(SYS_write, fd, bytes, length); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { SHORT(WRITE, "pwrite", fd, length); return syscall(SYS_pwrite64, fd, bytes, length, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { SHORT(WRITE, "pwrite", fd, length); return syscall(SYS_pwrite64, fd, bytes, length, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
  int error = STRIKE(WRITEV, "writev", path_of(fd));
  if (error > 0) { errno = error; return -1; }
  if (error == 0) return syscall(SYS_write, fd, parts[0].iov_base, shorter(parts[0].iov_len));
  return syscall(SYS_writev, fd, parts, count);
}
int fsync(int fd) { FAIL_IF(SYNC, "fsync", path_of(fd), -1); return (int) syscall(SYS_fsync, fd); }
int fdatasync(int fd) { FAIL_IF(SYNC, "fdatasync", path_of(fd), -1); return (int) syscall(SYS_fdatasync, fd); }
int unlink(const char *path) { FAIL_IF(UNLINK, "unlink", inside(path) ? path : NULL, -1); return (int) syscall(SYS_unlinkat, AT_FDCWD, path, 0); }
int rmdir(const char *path) { FAIL_IF(UNLINK, "rmdir", inside(path) ? path : NULL, -1); return (int) syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR); }
int mkdir(const char *path, mode_t mode) { FAIL_IF(MKDIR, "mkdir", inside(path) ? path : NULL, -1); return (int) syscall(SYS_mkdirat, AT_FDCWD, path, mode); }
int rename(const char *from, const char *to) { FAIL_IF(RENAME, "rename", inside(from) ? from : NULL, -1); return (int) syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0); }
