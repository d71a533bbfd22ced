//! Memory that the process may still take. Linux gives it; a page in a browser has a fixed amount.

use std::fs;
use std::path::Path;

/// Bytes that the process may still take before the system refuses or ends a process. It is the least of the rest of
/// the machine's memory without swapping, of the control groups' limits and of the address space (`ulimit -v`). `None`
/// where the system does not tell.
#[must_use]
pub fn available_memory() -> Option<u64> {
    of_page().or_else(|| available_under(Path::new("/")))
}

/// The rest of the memory that a run in a browser may take: a phone allows a page little more.
#[cfg(target_family = "wasm")]
fn of_page() -> Option<u64> {
    const MEMORY_OF_PAGE: u64 = 1 << 30;
    const PAGE_BYTES: u64 = 1 << 16;
    let used = core::arch::wasm32::memory_size::<0>() as u64 * PAGE_BYTES;
    Some(MEMORY_OF_PAGE.saturating_sub(used))
}

#[cfg(not(target_family = "wasm"))]
fn of_page() -> Option<u64> {
    None
}

fn available_under(root: &Path) -> Option<u64> {
    [of_machine(root), of_groups(root), of_address_space(root)].into_iter().flatten().min()
}

fn of_machine(root: &Path) -> Option<u64> {
    kibibytes(&read(&root.join("proc/meminfo"))?, "MemAvailable:")
}

fn of_groups(root: &Path) -> Option<u64> {
    let groups = read(&root.join("proc/self/cgroup"))?;
    // `hierarchy:controllers:path`; version 2 has one hierarchy, without controllers.
    let left = groups.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let path = Path::new(path.trim_start_matches('/'));
        if controllers.is_empty() {
            let files = ["memory.max", "memory.current", "inactive_file "];
            of_group(&root.join("sys/fs/cgroup"), path, files)
        } else if controllers.split(',').any(|controller| controller == "memory") {
            let files = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "];
            of_group(&root.join("sys/fs/cgroup/memory"), path, files)
        } else {
            None
        }
    });
    left.min()
}

/// The rest of the limits of the group at `path` and all above. Files not read lately count as free. In a container
/// `path` may not exist: then the root is the group.
fn of_group(hierarchy: &Path, path: &Path, [limit, used, files]: [&str; 3]) -> Option<u64> {
    let left = |group: &Path| {
        let bytes = |file: &str| read(&group.join(file))?.trim().parse::<u64>().ok();
        let (limit, used) = (bytes(limit)?, bytes(used)?);
        let stat = read(&group.join("memory.stat")).unwrap_or_default();
        let line = stat.lines().find_map(|line| line.strip_prefix(files));
        let reclaimable = line.and_then(|bytes| bytes.trim().parse::<u64>().ok()).unwrap_or(0);
        Some(limit.saturating_sub(used.saturating_sub(reclaimable)))
    };
    path.ancestors().filter_map(|group| left(&hierarchy.join(group))).min()
}

fn of_address_space(root: &Path) -> Option<u64> {
    let limits = read(&root.join("proc/self/limits"))?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit = line.split_whitespace().next()?.parse::<u64>().ok()?;
    let used = kibibytes(&read(&root.join("proc/self/status"))?, "VmSize:")?;
    Some(limit.saturating_sub(used))
}

fn read(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok()
}

/// The bytes of a line such as `MemAvailable:   1024 kB`.
pub(crate) fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?.trim().strip_suffix("kB")?;
    value.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn available(test: &str, files: &[(&str, &str)]) -> Option<u64> {
        let root = std::env::temp_dir().join(format!("forebay-machine-{test}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let available = available_under(&root);
        let _ = fs::remove_dir_all(&root);
        available
    }

    const MEMORY: (&str, &str) = ("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:   8000 kB\n");

    #[test]
    fn nothing_is_known_where_the_system_does_not_tell() {
        assert_eq!(available("nothing", &[]), None);
        assert_eq!(available("machine", &[MEMORY]), Some(8_192_000));
    }

    #[test]
    fn a_group_or_one_above_it_may_leave_less_than_the_machine() {
        let groups = ("proc/self/cgroup", "0::/outer/inner\n");
        let inner = ("sys/fs/cgroup/outer/inner/memory.max", "max\n");
        let outer = ("sys/fs/cgroup/outer/memory.max", "5000000\n");
        let used = ("sys/fs/cgroup/outer/memory.current", "3000000\n");
        let stat = ("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 1000000\n");
        assert_eq!(available("group", &[MEMORY, groups, inner, outer, used]), Some(2_000_000));
        assert_eq!(available("files", &[MEMORY, groups, inner, outer, used, stat]), Some(3_000_000));
        assert_eq!(available("unlimited", &[MEMORY, groups, inner]), Some(8_192_000));
    }

    #[test]
    fn groups_of_version_1_and_containers_are_understood() {
        let groups = ("proc/self/cgroup", "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n");
        let limit = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4000000\n");
        let used = ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
        assert_eq!(available("version-1", &[MEMORY, groups, limit, used]), Some(3_000_000));
    }

    #[test]
    fn a_limit_on_the_address_space_counts() {
        let limits =
            ("proc/self/limits", "Limit  Soft  Hard  Units\nMax address space         3072000   unlimited   bytes\n");
        let status = ("proc/self/status", "VmSize:\t    1000 kB\n");
        assert_eq!(available("address-space", &[MEMORY, limits, status]), Some(2_048_000));
    }
}
