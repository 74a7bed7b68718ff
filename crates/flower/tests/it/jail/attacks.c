// What a hostile program would try, one word per attempt. Each says on a line of its own what became of it:
// `name done`, or `name` and the number of the error. Attempts that would hurt the machine have arguments that are wrong
// in a harmless way: where the call is not refused, the kernel refuses the argument with another error.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static void say(const char *name, long result) {
    if (result < 0) printf("%s %d\n", name, errno);
    else printf("%s done\n", name);
    fflush(stdout);
}

#define CALL(name, ...) say(#name, syscall(SYS_##name, __VA_ARGS__))

static void kernel(void) {
    CALL(mount, "none", "/tmp", "tmpfs", 0, 0);
    CALL(umount2, "/tmp", 2);
    CALL(pivot_root, "/tmp", "/tmp");
    CALL(chroot, "/tmp");
    syscall(SYS_chroot, ".");
    CALL(fsopen, "tmpfs", 0);
    CALL(fspick, AT_FDCWD, "/", 0);
    CALL(fsconfig, -1, 0, 0, 0, 0);
    CALL(fsmount, -1, 0, 0);
    CALL(open_tree, AT_FDCWD, "/", 1);
    CALL(move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/var", 0);
    CALL(mount_setattr, AT_FDCWD, "/", 0, 0, 0);
    say("open_tree_attr", syscall(467, AT_FDCWD, "/", 1, 0, 0));
    CALL(setns, open("/proc/self/ns/mnt", O_RDONLY), 0);
    int flags[] = {CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        CALL(unshare, flags[i]);
        CALL(unshare, flags[i] | CLONE_NEWUSER);
        long child = syscall(SYS_clone, flags[i] | SIGCHLD, 0, 0, 0, 0);
        if (child == 0) _exit(0);
        say("clone", child);
        // The upper half of the argument does not make it another one.
        CALL(unshare, (unsigned long)flags[i] | 1UL << 40);
    }
    long args[11] = {CLONE_NEWUSER};
    long child = syscall(SYS_clone3, args, sizeof args);
    if (child == 0) _exit(0);
    say("clone3", child);
    CALL(ptrace, 0, 0, 0, 0);
    CALL(ptrace, 16, 1, 0, 0);
    CALL(process_vm_readv, 1, 0, 0, 0, 0, 0);
    CALL(process_vm_writev, 1, 0, 0, 0, 0, 0);
    CALL(pidfd_getfd, -1, 0, 0);
    CALL(kcmp, 1, 1, 0, 0, 0);
    CALL(perf_event_open, 0, 0, -1, -1, 0);
    CALL(bpf, 0, 0, 0);
    CALL(userfaultfd, 0);
    CALL(io_uring_setup, 1, 0);
    CALL(io_uring_enter, -1, 0, 0, 0, 0);
    CALL(io_uring_register, -1, 0, 0, 0);
    CALL(add_key, "user", "x", "y", 1, -1);
    CALL(keyctl, 0, -3, 0);
    CALL(request_key, "user", "x", 0, 0);
    CALL(open_by_handle_at, -1, 0, 0);
    CALL(fanotify_init, 0, 0);
    CALL(init_module, 0, 0, 0);
    CALL(finit_module, -1, 0, 0);
    CALL(delete_module, 0, 0);
    CALL(kexec_load, 0, 0, 0, ~0UL);
    CALL(reboot, 0, 0, 0, 0);
    CALL(swapon, 0, 0);
    CALL(swapoff, 0);
    CALL(acct, "/nowhere");
    CALL(syslog, 3, 0, 0);
    CALL(settimeofday, 0, 0);
    CALL(clock_settime, 99, 0);
    CALL(adjtimex, 0);
    say("mknod_char", mknod("device", S_IFCHR | 0600, 0x103));
    say("mknod_block", mknod("disk", S_IFBLK | 0600, 0x700));
    CALL(setuid, 1);
    CALL(setgroups, 0, 0);
#ifdef __x86_64__
    CALL(iopl, 3);
    // The same calls by their other numbers.
    say("x32_mount", syscall(0x40000000 | SYS_mount, 0, 0, 0, 0, 0));
    say("x32_getpid", syscall(0x40000000 | SYS_getpid));
#endif
}

// Another architecture's calls have other numbers: there must be no way to make them.
static void other_architecture(void) {
#ifdef __x86_64__
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
    printf("int80 %s\n", result == -ENOSYS ? "38" : "done");
#else
    raise(SIGSYS);
#endif
}

static void sockets(void) {
    int families[] = {AF_PACKET, AF_ALG, AF_VSOCK, AF_BLUETOOTH, 43 /* SMC */, 44 /* XDP */};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) say("family", socket(families[i], SOCK_STREAM, 0));
    for (int v6 = 0; v6 < 2; v6++) {
        int inet = v6 ? AF_INET6 : AF_INET;
        say("mptcp", socket(inet, SOCK_STREAM, 262));
        say("mptcp_cloexec", socket(inet, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 262));
        say("sctp", socket(inet, SOCK_STREAM, IPPROTO_SCTP));
        say("smc", socket(inet, SOCK_STREAM, 256));
        say("seqpacket", socket(inet, SOCK_SEQPACKET, 0));
        say("seqpacket_cloexec", socket(inet, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        say("dccp", socket(inet, 6, 0));
        say("udplite", socket(inet, SOCK_DGRAM, IPPROTO_UDPLITE));
        say("raw", socket(inet, SOCK_RAW, IPPROTO_TCP));
    }
    say("sock_diag", socket(AF_NETLINK, SOCK_RAW, 4));
    say("audit", socket(AF_NETLINK, SOCK_RAW, 9));
}

static struct sockaddr_in loopback(const char *port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return to;
}

static void tcp(const char *how, const char *port) {
    struct sockaddr_in to = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (!strcmp(how, "connect")) say(how, connect(fd, (void *)&to, sizeof to));
    if (!strcmp(how, "bind")) say(how, bind(fd, (void *)&to, sizeof to));
    if (!strcmp(how, "fast_open")) say(how, sendto(fd, "x", 1, MSG_FASTOPEN, (void *)&to, sizeof to));
    if (!strcmp(how, "fast_open_message")) {
        struct iovec data = {"x", 1};
        struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &data, .msg_iovlen = 1};
        say(how, sendmsg(fd, &message, MSG_FASTOPEN));
        struct mmsghdr messages = {.msg_hdr = message};
        say(how, sendmmsg(socket(AF_INET, SOCK_STREAM, 0), &messages, 1, MSG_FASTOPEN));
    }
}

static void unix_socket(const char *name) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    memcpy(to.sun_path, name, length);
    // `@` stands for the zero of abstract names, as elsewhere.
    if (name[0] == '@') to.sun_path[0] = 0;
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + length;
    say("stream", connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&to, size));
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    say("datagram", sendto(fd, "x", 1, 0, (void *)&to, size));
}

static const char *dirname_of(const char *path) {
    static char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    return slash ? folder : ".";
}

// Every way to change a file or the folder around it.
static void metadata(const char *path) {
    struct timespec times[2] = {{1, 0}, {1, 0}};
    say("chmod", chmod(path, 0777));
    say("chown", chown(path, getuid(), getgid()));
    say("utimes", utimensat(AT_FDCWD, path, times, 0));
    say("setxattr", setxattr(path, "user.attack", "x", 1, 0));
    say("removexattr", removexattr(path, "user.attack"));
    say("truncate", truncate(path, 0));
    say("link", link(path, "stolen"));
    char other[4096];
    snprintf(other, sizeof other, "%s.renamed", path);
    say("rename", rename(path, other));
    say("rename_in", rename("own", path));
    say("exchange", syscall(SYS_renameat2, AT_FDCWD, "own", AT_FDCWD, path, 2));
    say("link_in", link("own", other));
    say("symlink", symlink("own", other));
    say("mkdir", mkdir(other, 0755));
    say("mkfifo", mkfifo(other, 0644));
    say("create", open(other, O_CREAT | O_WRONLY, 0644));
    say("write", open(path, O_WRONLY));
    say("append", open(path, O_WRONLY | O_APPEND));
    say("open_truncated", open(path, O_RDONLY | O_TRUNC));
    say("tmpfile", open(dirname_of(path), O_TMPFILE | O_WRONLY, 0600));
    say("unlink", unlink(path));
    say("rmdir", rmdir(path));
}

// How many processes there can be at once.
static void bomb(void) {
    int count = 0;
    for (; count < 100000; count++) {
        pid_t child = fork();
        if (child < 0) break;
        if (child == 0) {
            pause();
            _exit(0);
        }
    }
    printf("forks %d\n", count);
    fflush(stdout);
}

// Takes memory, step by step, and then keeps it for a while.
static void take_and_keep(int megabytes) {
    for (int i = 0; i < megabytes; i++) {
        char *block = malloc(1 << 20);
        if (!block) exit(97);
        memset(block, 1, 1 << 20);
        usleep(1000);
    }
}

// `eat MEGABYTES EACH PROCESSES`: so much before the others are forked, and so much in each of them.
static void eat(char **args) {
    take_and_keep(atoi(args[0]));
    for (int i = 0; i < atoi(args[2]); i++) {
        if (fork() == 0) {
            take_and_keep(atoi(args[1]));
            sleep(2);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {}
    sleep(1);
    printf("eaten\n");
}

static void typing(void) {
    char c = 'x';
    say("tiocsti", ioctl(0, TIOCSTI, &c));
    int tty = open("/dev/tty", O_RDWR);
    say("tiocsti_tty", ioctl(tty, TIOCSTI, &c));
    say("tiocsti_upper", syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI | 1UL << 40, &c));
    say("tioclinux", ioctl(0, TIOCLINUX, &c));
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

static void install(struct sock_filter *filter, unsigned short length) {
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("seccomp");
        exit(99);
    }
}

// A kernel without something: `without CALL ERRNO COMMAND...`.
static void without(char **args) {
    struct sock_filter filter[] = {
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(args[0]), 0, 1),
        RETURN(SECCOMP_RET_ERRNO | atoi(args[1])),
        RETURN(SECCOMP_RET_ALLOW),
    };
    install(filter, sizeof filter / sizeof *filter);
    execvp(args[2], args + 2);
}

// A kernel that refuses new namespaces, however they are asked for.
static void without_namespaces(char **args) {
    struct sock_filter filter[] = {
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWNS | CLONE_NEWUSER, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    install(filter, sizeof filter / sizeof *filter);
    execvp(args[0], args);
}

// A kernel with an older Landlock: `old_landlock VERSION COMMAND...`. The version of Landlock is reported as this one.
static void old_landlock(char **args) {
    struct sock_filter filter[] = {
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 2),
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_USER_NOTIF),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0) exit(99);
    pid_t child = fork();
    if (child == 0) {
        close(listener);
        execvp(args[1], args + 1);
        _exit(99);
    }
    // The answers come from beside the program, until it ends.
    pid_t helper = fork();
    if (helper == 0) {
        for (;;) {
            struct seccomp_notif request = {0};
            if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request)) continue;
            struct seccomp_notif_resp answer = {.id = request.id, .val = atoi(args[0])};
            ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
        }
    }
    int status;
    waitpid(child, &status, 0);
    kill(helper, SIGKILL);
    exit(WEXITSTATUS(status));
}

int main(int count, char **args) {
    const char *what = count > 1 ? args[1] : "";
    if (!strcmp(what, "kernel")) kernel();
    else if (!strcmp(what, "other_architecture")) other_architecture();
    else if (!strcmp(what, "sockets")) sockets();
    else if (!strcmp(what, "tcp")) tcp(args[2], args[3]);
    else if (!strcmp(what, "unix")) unix_socket(args[2]);
    else if (!strcmp(what, "metadata")) metadata(args[2]);
    else if (!strcmp(what, "bomb")) bomb();
    else if (!strcmp(what, "eat")) eat(args + 2);
    else if (!strcmp(what, "typing")) typing();
    else if (!strcmp(what, "without")) without(args + 2);
    else if (!strcmp(what, "without_namespaces")) without_namespaces(args + 2);
    else if (!strcmp(what, "old_landlock")) old_landlock(args + 2);
    else return 98;
    return 0;
}
