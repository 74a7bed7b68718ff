//! Seccomp filters: deny system calls that builds do not need and that have been used to escape from sandboxes.

use super::error::{SetupError, SetupResult};
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;

/// A denied system call. With rules it is denied only if one of them matches.
type DeniedCall = (c_long, Vec<SeccompRule>);

pub(super) fn apply() -> SetupResult<()> {
    install().map_err(|error| SetupError::new("seccomp", error))
}

fn install() -> Result<(), Box<dyn std::error::Error>> {
    for program in programs()? {
        apply_filter(&program)?;
    }
    Ok(())
}

/// The filters, all of which apply. There are several because a filter of seccompiler has one action.
fn programs() -> Result<Vec<BpfProgram>, Box<dyn std::error::Error>> {
    let absent = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    let denied = denied_calls()?.into_iter().collect();
    let mut programs = vec![compile(absent, libc::ENOSYS)?, compile(denied, libc::EPERM)?];
    if cfg!(target_arch = "x86_64") {
        programs.push(reject_x32());
    }
    Ok(programs)
}

/// A filter in which these calls fail with `errno`. It kills a process that uses the call numbers of another architecture.
fn compile(calls: BTreeMap<c_long, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let action = SeccompAction::Errno(errno.unsigned_abs());
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    Ok(SeccompFilter::new(calls, SeccompAction::Allow, action, arch)?.try_into()?)
}

/// These calls fail with `ENOSYS`, as on a kernel without them: programs then use older calls.
const ABSENT: &[c_long] = &[
    // Its flags are in memory, which a filter cannot read; `clone` has them in a register.
    libc::SYS_clone3,
    // Executes operations that pass no filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// On x86-64 each call has a second number for programs of the x32 ABI, which would pass the other filters. All of them fail
/// with `ENOSYS`. Written out because seccompiler compares call numbers for equality only.
fn reject_x32() -> BpfProgram {
    const CALL_NUMBER: u32 = std::mem::offset_of!(libc::seccomp_data, nr) as u32;
    const X32_BIT: u32 = 0x4000_0000;
    let instruction = |code: u32, k, jt, jf| sock_filter { code: code as u16, jt, jf, k };
    vec![
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, CALL_NUMBER, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, X32_BIT, 0, 1),
        instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(), 0, 0),
        instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ]
}

fn denied_calls() -> Result<Vec<DeniedCall>, seccompiler::BackendError> {
    /// Not in `libc` yet; the number is the same on all architectures.
    const OPEN_TREE_ATTR: c_long = 467;
    let calls = [
        // Mounts
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_open_tree,
        OPEN_TREE_ATTR,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        // Access to files without a path
        libc::SYS_open_by_handle_at,
        libc::SYS_fanotify_init,
        // Other namespaces and other processes
        libc::SYS_setns,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_perf_event_open,
        // The kernel itself
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_reboot,
        libc::SYS_bpf,
        libc::SYS_userfaultfd,
        libc::SYS_syslog,
        libc::SYS_acct,
        // Kernel keyrings belong to the user, not to a namespace
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        // The clock is shared with the host
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
    ];
    let mut denied: Vec<DeniedCall> = calls.into_iter().map(|call| (call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    denied.extend([libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt].map(|call| (call, Vec::new())));

    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let new_namespace = namespaces.iter().map(|flag| rule([has(0, flag.unsigned_abs().into())?]));
    let new_namespace = new_namespace.collect::<Result<Vec<_>, _>>()?;
    denied.push((libc::SYS_clone, new_namespace.clone()));
    denied.push((libc::SYS_unshare, new_namespace));
    // Inject input into the terminal as if the operator had typed it.
    let inject_input = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| rule([is(1, low_half(request))?]));
    denied.push((libc::SYS_ioctl, inject_input.into_iter().collect::<Result<_, _>>()?));
    // TCP Fast Open connects while sending, which Landlock does not check.
    let fast_open: u64 = libc::MSG_FASTOPEN.unsigned_abs().into();
    denied.push((libc::SYS_sendto, vec![rule([has(3, fast_open)?])?]));
    denied.push((libc::SYS_sendmsg, vec![rule([has(2, fast_open)?])?]));
    denied.push((libc::SYS_sendmmsg, vec![rule([has(3, fast_open)?])?]));
    denied.push((libc::SYS_socket, denied_sockets()?));
    Ok(denied)
}

/// Sockets other than unix, TCP, UDP, ICMP and netlink routing. Landlock restricts the ports of TCP only, so other protocols that
/// connect would bypass it.
fn denied_sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    /// The bits of the second argument that hold the type; the others are flags.
    const TYPE_MASK: u64 = 0xf;
    let allowed_protocols = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP, libc::IPPROTO_ICMPV6];
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let families = families.map(|family| is_not(0, family)).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut rules = vec![SeccompRule::new(families)?];
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut other_protocol = vec![is(0, low_half(family))?];
        for protocol in allowed_protocols {
            other_protocol.push(is_not(2, protocol)?);
        }
        rules.push(SeccompRule::new(other_protocol)?);
        // With these types protocol 0 selects a protocol that is not allowed.
        for kind in [libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP] {
            let is_kind = condition(1, SeccompCmpOp::MaskedEq(TYPE_MASK), low_half(kind))?;
            rules.push(rule([is(0, low_half(family))?, is_kind])?);
        }
    }
    // Other netlink families expose sockets and packets of other processes.
    rules.push(rule([is(0, low_half(libc::AF_NETLINK))?, is_not(2, libc::NETLINK_ROUTE)?])?);
    Ok(rules)
}

type Condition = Result<SeccompCondition, seccompiler::BackendError>;

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into())
}

fn is(argument: u8, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: i32) -> Condition {
    condition(argument, SeccompCmpOp::Ne, low_half(value))
}

fn has(argument: u8, flag: u64) -> Condition {
    condition(argument, SeccompCmpOp::MaskedEq(flag), flag)
}

/// Compares the lower 32 bits only, as the kernel does for these arguments: a program can set the upper bits to anything.
fn condition(argument: u8, comparison: SeccompCmpOp, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)
}

fn low_half(value: impl Into<i128>) -> u64 {
    u64::try_from(value.into() & i128::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
    const DENIED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    const MISSING: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    const X86_64: u32 = 0xc000_003e;
    const AARCH64: u32 = 0xc000_00b7;

    /// Runs a program as the kernel does, with the instructions that the filters use.
    fn run(program: &[sock_filter], arch: u32, call: u32, args: [u64; 6]) -> u32 {
        let low_and_high = |value: u64| [value as u32, (value >> 32) as u32];
        let mut data = vec![call, arch, 0, 0];
        data.extend(args.into_iter().flat_map(low_and_high));
        let (mut at, mut loaded) = (0, 0);
        loop {
            let next = &program[at];
            let jump = |holds: bool| usize::from(if holds { next.jt } else { next.jf });
            at += 1;
            match next.code {
                0x20 => loaded = data[next.k as usize / 4],
                0x54 => loaded &= next.k,
                0x05 => at += next.k as usize,
                0x15 => at += jump(loaded == next.k),
                0x25 => at += jump(loaded > next.k),
                0x35 => at += jump(loaded >= next.k),
                0x06 => return next.k,
                other => panic!("instruction {other:#x} is not known"),
            }
        }
    }

    /// The result of all filters, of which the kernel takes the most severe.
    fn verdict(arch: u32, call: u32, args: [u64; 6]) -> u32 {
        let results = programs().unwrap().into_iter().map(|program| run(&program, arch, call, args));
        results.min_by_key(|result| result.cast_signed()).unwrap()
    }

    fn this_arch() -> u32 {
        if cfg!(target_arch = "x86_64") { X86_64 } else { AARCH64 }
    }

    #[test]
    fn exactly_the_listed_calls_fail_and_other_architectures_are_killed() {
        let denied = denied_calls().unwrap();
        let other_arch = if this_arch() == X86_64 { AARCH64 } else { X86_64 };
        for number in 0..2000 {
            let call = c_long::from(number);
            let rules = denied.iter().find(|(denied, _)| *denied == call).map(|(_, rules)| rules);
            let expected = match rules {
                _ if ABSENT.contains(&call) => Some(MISSING),
                Some(rules) if rules.is_empty() => Some(DENIED),
                // Depends on the arguments: see the next test.
                Some(_) => None,
                None => Some(ALLOWED),
            };
            if let Some(expected) = expected {
                assert_eq!(verdict(this_arch(), number, [0; 6]), expected, "{number}");
            }
            assert_eq!(verdict(other_arch, number, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS, "{number}");
            if cfg!(target_arch = "x86_64") {
                assert_eq!(verdict(this_arch(), 0x4000_0000 + number, [0; 6]), MISSING, "{number}");
            }
        }
    }

    #[test]
    fn arguments_decide_where_a_call_has_rules() {
        let int = |value: i32| u64::from(value.cast_unsigned());
        // The kernel ignores the upper half of these arguments.
        let upper_half = 7 << 32;
        let (inet, stream, udp) = (int(libc::AF_INET), int(libc::SOCK_STREAM), int(libc::IPPROTO_UDP));
        let fast_open = int(libc::MSG_FASTOPEN);
        for (call, args, expected) in [
            (libc::SYS_clone, [int(libc::SIGCHLD | libc::CLONE_VM), 0, 0, 0], ALLOWED),
            (libc::SYS_clone, [int(libc::SIGCHLD | libc::CLONE_NEWUSER), 0, 0, 0], DENIED),
            (libc::SYS_unshare, [int(libc::CLONE_FILES), 0, 0, 0], ALLOWED),
            (libc::SYS_unshare, [int(libc::CLONE_FILES | libc::CLONE_NEWNS), 0, 0, 0], DENIED),
            (libc::SYS_ioctl, [0, low_half(libc::TCGETS), 0, 0], ALLOWED),
            (libc::SYS_ioctl, [0, low_half(libc::TIOCSTI) | upper_half, 0, 0], DENIED),
            (libc::SYS_ioctl, [0, low_half(libc::TIOCLINUX), 0, 0], DENIED),
            (libc::SYS_sendto, [0, 0, 0, int(libc::MSG_NOSIGNAL)], ALLOWED),
            (libc::SYS_sendto, [0, 0, 0, fast_open | upper_half], DENIED),
            (libc::SYS_sendmsg, [0, 0, fast_open, 0], DENIED),
            (libc::SYS_sendmmsg, [0, 0, 0, fast_open], DENIED),
            (libc::SYS_socket, [inet, stream | int(libc::SOCK_CLOEXEC), 0, 0], ALLOWED),
            (libc::SYS_socket, [inet, int(libc::SOCK_DGRAM), udp, 0], ALLOWED),
            (libc::SYS_socket, [inet | upper_half, stream, int(libc::IPPROTO_MPTCP), 0], DENIED),
            (libc::SYS_socket, [inet, int(libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC), 0, 0], DENIED),
            (libc::SYS_socket, [int(libc::AF_UNIX), int(libc::SOCK_SEQPACKET), 0, 0], ALLOWED),
            (libc::SYS_socket, [int(libc::AF_VSOCK), stream, 0, 0], DENIED),
            (libc::SYS_socket, [int(libc::AF_NETLINK), 0, int(libc::NETLINK_ROUTE), 0], ALLOWED),
            (libc::SYS_socket, [int(libc::AF_NETLINK), 0, int(libc::NETLINK_NETFILTER), 0], DENIED),
        ] {
            let [a, b, c, d] = args;
            let number = u32::try_from(call).unwrap();
            assert_eq!(verdict(this_arch(), number, [a, b, c, d, 0, 0]), expected, "{number} {args:x?}");
        }
    }
}
