//! Queries to the operating system: the memory that is available to this process, and its huge pages.

/// The assumed memory if the system can't be queried.
const UNKNOWN: u64 = 4 << 30;

/// The bytes that are available to this process: the minimum of the free memory of the machine, of its control groups,
/// and of its address space limit.
pub fn available_memory() -> u64 {
    #[cfg(all(target_os = "linux", not(inkstone_portable)))]
    return linux::available_memory().unwrap_or(UNKNOWN);
    #[cfg(any(not(target_os = "linux"), inkstone_portable))]
    return UNKNOWN;
}

/// Bytes of this process in huge pages; `None` if the system can't be queried.
pub fn huge_pages() -> Option<u64> {
    #[cfg(all(target_os = "linux", not(inkstone_portable)))]
    return linux::huge_pages();
    #[cfg(any(not(target_os = "linux"), inkstone_portable))]
    return None;
}

/// The most bytes of memory that this process had at once; `None` where the system can't be asked.
pub fn peak_memory() -> Option<u64> {
    #[cfg(all(target_os = "linux", not(inkstone_portable)))]
    return linux::peak_memory();
    #[cfg(any(not(target_os = "linux"), inkstone_portable))]
    return None;
}

#[cfg(any(all(target_os = "linux", not(inkstone_portable)), test))]
#[cfg_attr(any(not(target_os = "linux"), inkstone_portable), allow(dead_code))]
mod linux {
    use std::fs::read_to_string;
    use std::path::{Path, PathBuf};

    /// The memory files of a kind of control group: its root, then the files of the limit and of the use, and the
    /// counts of `memory.stat` that the system reclaims when needed.
    #[derive(Clone, Copy)]
    struct Group {
        root: &'static str,
        limit: &'static str,
        used: &'static str,
        reclaimable: [&'static str; 2],
    }

    const V2: Group = Group {
        root: "/sys/fs/cgroup",
        limit: "memory.max",
        used: "memory.current",
        reclaimable: ["inactive_file", "active_file"],
    };
    const V1: Group = Group {
        root: "/sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        reclaimable: ["total_inactive_file", "total_active_file"],
    };

    pub(super) fn available_memory() -> Option<u64> {
        let machine = read_to_string("/proc/meminfo").ok().and_then(|t| kilobytes(&t, "MemAvailable:"));
        let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
        let group = groups.lines().flat_map(folders).filter_map(|(group, folder)| left_in_group(&group, &folder)).min();
        let limit = read_to_string("/proc/self/limits").ok().and_then(|t| address_space(&t));
        let size = read_to_string("/proc/self/status").ok().and_then(|t| kilobytes(&t, "VmSize:"));
        let space = limit.map(|limit| limit.saturating_sub(size.unwrap_or(0)));
        [machine, group, space].into_iter().flatten().min()
    }

    pub(super) fn huge_pages() -> Option<u64> {
        read_to_string("/proc/self/smaps_rollup").ok().and_then(|t| kilobytes(&t, "AnonHugePages:"))
    }

    pub(super) fn peak_memory() -> Option<u64> {
        read_to_string("/proc/self/status").ok().and_then(|t| kilobytes(&t, "VmHWM:"))
    }

    /// A line `name   123 kB`.
    pub(super) fn kilobytes(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|l| l.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    }

    /// The soft limit of the address space, if there is one.
    pub(super) fn address_space(text: &str) -> Option<u64> {
        let line = text.lines().find_map(|l| l.strip_prefix("Max address space"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// The folders of a line `id:controllers:path` of /proc/self/cgroup, from the process's own group up to the root:
    /// every limit on the way counts.
    fn folders(line: &str) -> Vec<(Group, PathBuf)> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
        let group = match controllers {
            "" => V2,
            c if c.split(',').any(|c| c == "memory") => V1,
            _ => return Vec::new(),
        };
        let own = Path::new(group.root).join(path.trim_start_matches('/'));
        let up = own.ancestors().take_while(|a| a.starts_with(group.root));
        up.map(|a| (group, a.to_owned())).collect()
    }

    fn left_in_group(group: &Group, folder: &Path) -> Option<u64> {
        let number = |file: &str| read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        let stat = read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let limit = number(group.limit)?;
        Some(limit.saturating_sub(number(group.used)?.saturating_sub(count(&stat, &group.reclaimable))))
    }

    /// The sum of lines `name 123`.
    pub(super) fn count(stat: &str, names: &[&str]) -> u64 {
        let line = |l: &str| {
            let (name, value) = l.split_once(' ')?;
            if names.contains(&name) { value.trim().parse::<u64>().ok() } else { None }
        };
        stat.lines().filter_map(line).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_some_memory() {
        assert!(available_memory() > 1 << 20 && UNKNOWN > 1 << 20);
    }

    #[test]
    fn texts_of_the_kernel_are_read() {
        assert_eq!(linux::kilobytes("MemTotal: 9 kB\nMemAvailable:    7 kB\n", "MemAvailable:"), Some(7 << 10));
        assert_eq!(linux::kilobytes("MemAvailable: many", "MemAvailable:"), None);
        let limits = |soft| format!("Max locked memory 1 1 bytes\nMax address space   {soft}   unlimited  bytes\n");
        assert_eq!(linux::address_space(&limits("4096")), Some(4096));
        assert_eq!(linux::address_space(&limits("unlimited")), None);
        assert_eq!(linux::count("anon 5\ninactive_file 6\nactive_file 7\n", &["inactive_file", "active_file"]), 13);
    }
}
