// Preloaded into the daemon: chosen calls on files below FLOWER_HOME fail from the moment that the control file is there.
//
// The control file (FLOWER_TEST_FAULTS) is one line: CALL,CALL… NAME ERRNO SKIP TIMES ROUND
//   NAME is a path below FLOWER_HOME; one that ends with `/` means everything in that folder.
//   The first SKIP calls that fit succeed, the next TIMES fail, all later ones succeed. A new ROUND counts anew.
// Every call on a file below FLOWER_HOME while the control file is there is noted in FLOWER_TEST_FAULTS.log.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static long fitted, counted_round;

static int listed(const char *call, const char *calls) {
    size_t length = strlen(call);
    for (const char *at = calls; (at = strstr(at, call)); at += length)
        if ((at == calls || at[-1] == ',') && (at[length] == ',' || at[length] == 0)) return 1;
    return 0;
}

// The errno that this call has to fail with, or 0.
static int fault(const char *call, int fd) {
    char link[64], path[PATH_MAX], log[PATH_MAX], calls[256], name[256];
    const char *control = getenv("FLOWER_TEST_FAULTS"), *home = getenv("FLOWER_HOME");
    int number, before = errno, result = 0;
    long skip, times, round;
    FILE *plan;
    if (!control || !home || !(plan = fopen(control, "r"))) { errno = before; return 0; }
    int read = fscanf(plan, "%255s %255s %d %ld %ld %ld", calls, name, &number, &skip, &times, &round);
    fclose(plan);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    size_t prefix = strlen(home);
    if (read == 6 && length > (ssize_t)prefix) {
        path[length] = 0;
        const char *below = path + prefix + 1;
        if (!strncmp(path, home, prefix) && path[prefix] == '/') {
            size_t named = strlen(name);
            int fits = name[named - 1] == '/' ? !strncmp(below, name, named) : !strcmp(below, name);
            pthread_mutex_lock(&counting);
            if (counted_round != round) { counted_round = round; fitted = 0; }
            if (fits && listed(call, calls)) {
                if (fitted >= skip && fitted < skip + times) result = number;
                fitted++;
            }
            pthread_mutex_unlock(&counting);
            snprintf(log, sizeof log, "%s.log", control);
            int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
            if (out >= 0) {
                dprintf(out, "%s %s %s\n", call, below, result ? "failed" : "passed");
                close(out);
            }
        }
    }
    errno = before;
    return result;
}

#define INTERPOSE(type, name, parameters, ...)                      \
    type name parameters {                                          \
        static type (*real) parameters;                             \
        if (!real) real = dlsym(RTLD_NEXT, #name);                  \
        int number = fault(#name, fd);                              \
        if (number) { errno = number; return -1; }                  \
        return real(__VA_ARGS__);                                   \
    }

INTERPOSE(ssize_t, write, (int fd, const void *bytes, size_t count), fd, bytes, count)
INTERPOSE(ssize_t, pwrite, (int fd, const void *bytes, size_t count, off_t at), fd, bytes, count, at)
INTERPOSE(ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off64_t at), fd, bytes, count, at)
INTERPOSE(int, fsync, (int fd), fd)
INTERPOSE(int, fdatasync, (int fd), fd)
INTERPOSE(int, ftruncate, (int fd, off_t length), fd, length)
INTERPOSE(int, ftruncate64, (int fd, off64_t length), fd, length)
