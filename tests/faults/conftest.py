"""A disk that tears writes, fails to read, to write and to sync, and tells in which order it is called."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <stdio.h>
static int writes_left = -1, syncs_to_fail = 0, reads_to_fail = 0, writes_to_fail = 0, calls_left = -1, told = -1;
void shim_kill_at_call(int k) { calls_left = k; }
void shim_tell(int fd) { told = fd; }
void shim_kill_at_write(int k) { writes_left = k; }
void shim_fail_syncs(int n) { syncs_to_fail = n; }
void shim_fail_reads(int n) { reads_to_fail = n; }
void shim_fail_writes(int n) { writes_to_fail = n; }
static int ours(int fd) {
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, sizeof name - 1);
    if (n <= 0) return 0;
    name[n] = 0;
    return strstr(name, ".dpledger") && !strstr(name, ".released");
}
static void called(const char *what, const char *name) {
    if (told >= 0) dprintf(told, "%s %s\n", what, name);
    if (calls_left > 0 && --calls_left == 0) raise(SIGKILL);
}
static void called_on(const char *what, int fd, int any) {
    char link[64], name[4096];
    if ((told < 0 && calls_left <= 0) || (!any && !ours(fd))) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, sizeof name - 1);
    name[n > 0 ? n : 0] = 0;
    called(what, name);
}
int unlink(const char *name) {
    static int (*real)(const char *);
    if (!real) real = dlsym(RTLD_NEXT, "unlink");
    if (strstr(name, ".dpledger")) called("unlink", name);
    return real(name);
}
#define WRITE(NAME) \
ssize_t NAME(int fd, const void *data, size_t size, off_t at) { \
    static ssize_t (*real)(int, const void *, size_t, off_t); \
    if (!real) real = dlsym(RTLD_NEXT, #NAME); \
    called_on("write", fd, 0); \
    if (writes_left > 0 && ours(fd) && --writes_left == 0) { \
        real(fd, data, size / 2, at); \
        raise(SIGKILL); \
    } \
    if (writes_to_fail > 0 && ours(fd)) { writes_to_fail--; errno = EIO; return -1; } \
    return real(fd, data, size, at); \
}
WRITE(pwrite)
WRITE(pwrite64)
#define READ(NAME) \
ssize_t NAME(int fd, void *data, size_t size, off_t at) { \
    static ssize_t (*real)(int, void *, size_t, off_t); \
    if (!real) real = dlsym(RTLD_NEXT, #NAME); \
    if (reads_to_fail > 0 && ours(fd)) { reads_to_fail--; errno = EIO; return -1; } \
    return real(fd, data, size, at); \
}
READ(pread)
READ(pread64)
#define SYNC(NAME) \
int NAME(int fd) { \
    static int (*real)(int); \
    if (!real) real = dlsym(RTLD_NEXT, #NAME); \
    called_on("sync", fd, 1); \
    if (syncs_to_fail > 0 && ours(fd)) { syncs_to_fail--; errno = EIO; return -1; } \
    return real(fd); \
}
SYNC(fsync)
SYNC(fdatasync)
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """A library put before the C library's: it tears the k-th write and dies, or makes the disk fail."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler and LD_PRELOAD")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c", "-ldl"], check=True)
    return str(folder / "shim.so")
