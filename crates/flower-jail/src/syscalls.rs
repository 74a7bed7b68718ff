//! Seccomp: the system calls that no build needs, and through which others have got out of jails.

use super::failure::{Failure, Step};
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;

/// A refused system call; with rules it is refused only if one of them fits.
type Refused = (c_long, Vec<SeccompRule>);

pub(super) fn apply() -> Step<()> {
    install().map_err(|error| Failure::new("seccomp", error))
}

fn install() -> Result<(), Box<dyn std::error::Error>> {
    let forbidden: BTreeMap<c_long, Vec<SeccompRule>> = forbidden()?.into_iter().collect();
    let listed: Vec<c_long> = forbidden.keys().copied().collect();
    let mut program = sieve(ABSENT, &listed)?;
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let filter: BpfProgram = SeccompFilter::new(forbidden, SeccompAction::Allow, refusal, arch)?.try_into()?;
    program.extend(filter);
    Ok(apply_filter(&program)?)
}

/// As if the kernel did not have them: programs know what to use instead.
const ABSENT: &[c_long] = &[
    // Its flags lie in memory, where no filter sees them: `clone` says the same in a register.
    libc::SYS_clone3,
    // Does in the kernel what filters never see.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// What stands before the long filter, so that few calls get there: the kernel tries each number there is when it takes a
/// filter, and a search by halves spares most of them the way through the whole list. Calls that are absent are answered
/// here, those of `listed` pass on to what follows, all others are allowed.
fn sieve(absent: &[c_long], listed: &[c_long]) -> Result<BpfProgram, Box<dyn std::error::Error>> {
    const ARCHITECTURE: u32 = std::mem::offset_of!(libc::seccomp_data, arch) as u32;
    const NUMBER: u32 = std::mem::offset_of!(libc::seccomp_data, nr) as u32;
    /// On x86-64 every call has a second number, for programs with short pointers, which no list would name.
    const X32: u32 = 0x4000_0000;
    let architecture = match std::env::consts::ARCH {
        "x86_64" => AUDIT_ARCH_X86_64,
        "aarch64" => AUDIT_ARCH_AARCH64,
        other => return Err(format!("no filter is known for {other}").into()),
    };
    let mut program = vec![
        instruction(LOAD, ARCHITECTURE),
        // The numbers of another one mean other calls.
        branch(IF_EQUAL, architecture, 1, 0),
        instruction(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(LOAD, NUMBER),
    ];
    let refused = instruction(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs());
    for call in absent {
        program.extend([branch(IF_EQUAL, u32::try_from(*call)?, 0, 1), refused.clone()]);
    }
    if cfg!(target_arch = "x86_64") {
        program.extend([branch(IF_AT_LEAST, X32, 0, 1), refused]);
    }
    let mut numbers = listed.iter().map(|call| u32::try_from(*call)).collect::<Result<Vec<_>, _>>()?;
    numbers.sort_unstable();
    program.extend(search(&numbers)?);
    // What was found goes on behind the end.
    let end = program.len();
    for (at, instruction) in program.iter_mut().enumerate().filter(|(_, instruction)| instruction.code == GO_ON) {
        instruction.k = u32::try_from(end - at - 1)?;
    }
    Ok(program)
}

/// By halves, each half behind the other.
fn search(numbers: &[u32]) -> Result<BpfProgram, std::num::TryFromIntError> {
    let allowed = instruction(RETURN, libc::SECCOMP_RET_ALLOW);
    match numbers {
        [] => Ok(vec![allowed]),
        [number] => Ok(vec![branch(IF_EQUAL, *number, 1, 0), allowed, instruction(GO_ON, 0)]),
        _ => {
            let (lower, upper) = numbers.split_at(numbers.len() / 2);
            let below = search(lower)?;
            let mut program = vec![branch(IF_AT_LEAST, upper[0], u8::try_from(below.len())?, 0)];
            program.extend(below);
            program.extend(search(upper)?);
            Ok(program)
        }
    }
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const GO_ON: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
const AUDIT_ARCH_AARCH64: u32 = 0xc000_00b7;

fn instruction(code: u16, k: u32) -> sock_filter {
    branch(code, k, 0, 0)
}

/// How many instructions are passed over if it is so, and if it is not.
fn branch(code: u16, k: u32, so: u8, not: u8) -> sock_filter {
    sock_filter { code, jt: so, jf: not, k }
}

fn forbidden() -> Result<Vec<Refused>, seccompiler::BackendError> {
    /// Newer than the names of the library; the same number everywhere.
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
        // Files without a path
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
        // Keys belong to the user, not to a namespace
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        // The clock is one for all
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
    ];
    let mut refused: Vec<Refused> = calls.into_iter().map(|call| (call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    refused.extend([libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt].map(|call| (call, Vec::new())));

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
    refused.push((libc::SYS_clone, new_namespace.clone()));
    refused.push((libc::SYS_unshare, new_namespace));
    // Types into the terminal, as if the operator had.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| rule([is(1, low_half(request))?]));
    refused.push((libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?));
    // Connects as it sends, and Landlock does not look there.
    let fast_open: u64 = libc::MSG_FASTOPEN.unsigned_abs().into();
    refused.push((libc::SYS_sendto, vec![rule([has(3, fast_open)?])?]));
    refused.push((libc::SYS_sendmsg, vec![rule([has(2, fast_open)?])?]));
    refused.push((libc::SYS_sendmmsg, vec![rule([has(3, fast_open)?])?]));
    refused.push((libc::SYS_socket, odd_sockets()?));
    Ok(refused)
}

/// Landlock knows the ports of TCP only: no other protocol that connects may take its place.
fn odd_sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    /// What of the second argument is the type; the rest are flags.
    const TYPE: u64 = 0xf;
    let usual = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP, libc::IPPROTO_ICMPV6];
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let families = families.map(|family| is_not(0, family)).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut rules = vec![SeccompRule::new(families)?];
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut odd = vec![is(0, low_half(family))?];
        for protocol in usual {
            odd.push(is_not(2, protocol)?);
        }
        rules.push(SeccompRule::new(odd)?);
        // With these, no protocol means one of the odd ones.
        for kind in [libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP] {
            let is_kind = condition(1, SeccompCmpOp::MaskedEq(TYPE), low_half(kind))?;
            rules.push(rule([is(0, low_half(family))?, is_kind])?);
        }
    }
    // Routes and addresses; the others tell about sockets and packets of everybody.
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

/// The kernel looks at the lower half of these arguments, and so must the filter: the upper half is free to lie.
fn condition(argument: u8, comparison: SeccompCmpOp, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)
}

fn low_half(value: impl Into<i128>) -> u64 {
    u64::try_from(value.into() & i128::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the sieve says to a call: the answer, or none if it is passed on.
    fn sifted(program: &[sock_filter], architecture: u32, number: u32) -> Option<u32> {
        let (mut at, mut loaded) = (0, 0);
        while let Some(next) = program.get(at) {
            let jump = |holds: bool| usize::from(if holds { next.jt } else { next.jf });
            at += 1;
            match next.code {
                LOAD => loaded = if next.k == 0 { number } else { architecture },
                IF_EQUAL => at += jump(loaded == next.k),
                IF_AT_LEAST => at += jump(loaded >= next.k),
                GO_ON => at += next.k as usize,
                RETURN => return Some(next.k),
                other => panic!("{other} is no instruction of the sieve"),
            }
        }
        assert_eq!(at, program.len(), "it goes on with the first instruction behind the end");
        None
    }

    #[test]
    fn exactly_the_listed_calls_pass_on_and_the_absent_are_answered() {
        let listed: Vec<c_long> = forbidden().unwrap().into_iter().map(|(call, _)| call).collect();
        let program = sieve(ABSENT, &listed).unwrap();
        let (ours, other) = match std::env::consts::ARCH {
            "x86_64" => (AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64),
            _ => (AUDIT_ARCH_AARCH64, AUDIT_ARCH_X86_64),
        };
        let absent = Some(libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs());
        for number in 0..2000 {
            let expected = match c_long::from(number) {
                call if ABSENT.contains(&call) => absent,
                call if listed.contains(&call) => None,
                _ => Some(libc::SECCOMP_RET_ALLOW),
            };
            assert_eq!(sifted(&program, ours, number), expected, "{number}");
            assert_eq!(sifted(&program, other, number), Some(libc::SECCOMP_RET_KILL_PROCESS), "{number}");
            if cfg!(target_arch = "x86_64") {
                assert_eq!(sifted(&program, ours, 0x4000_0000 + number), absent, "{number}");
            }
        }
    }
}
