//! The machine that a run ran on, as far as it bears on the result. The host's name is left out.

use std::{fs, path::Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine, as `/proc` and `/sys` tell. What cannot be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The processor's model name.
    pub cpu: Option<String>,
    /// Logical processors that this process may run on.
    pub cores: u32,
    /// Memory of the machine, in bytes.
    pub memory_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The operating system's name and version.
    pub os: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// The first processor's frequency governor.
    pub governor: Option<String>,
    /// Whether the processor says that it is a virtual machine's.
    pub virtual_machine: bool,
}

impl Machine {
    /// Reads what this machine tells about itself.
    pub fn detect() -> Machine {
        Machine::read(Path::new("/"))
    }

    /// Reads what the files below `root` tell; the cores are this process's own.
    fn read(root: &Path) -> Machine {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let line = |path: &str| {
            text(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let cpu_info = text("proc/cpuinfo").unwrap_or_default();
        Machine {
            cpu: field(&cpu_info, "model name", ':').map(str::to_owned),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            memory_bytes: text("proc/meminfo").as_deref().and_then(memory_bytes),
            kernel: line("proc/sys/kernel/osrelease"),
            os: text("etc/os-release")
                .as_deref()
                .and_then(|text| field(text, "PRETTY_NAME", '='))
                .map(|name| name.trim_matches('"').to_owned()),
            clocksource: line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            virtual_machine: field(&cpu_info, "flags", ':')
                .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
        }
    }
}

/// The value of the first line `name <separator> value`.
fn field<'a>(text: &'a str, name: &str, separator: char) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(separator))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty())
}

fn memory_bytes(mem_info: &str) -> Option<u64> {
    let kib = field(mem_info, "MemTotal", ':')?.strip_suffix("kB")?.trim();
    kib.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_read_from_its_files() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Quick 9\nflags\t\t: fpu hypervisor\n");
        put("proc/meminfo", "MemTotal:       16 kB\nMemFree: 1 kB\n");
        put("etc/os-release", "NAME=x\nPRETTY_NAME=\"Some OS 12\"\n");
        put("proc/sys/kernel/osrelease", "6.1.0\n");
        let machine = Machine::read(root.path());
        assert_eq!(machine.cpu.as_deref(), Some("Quick 9"));
        assert_eq!(machine.memory_bytes, Some(16 * 1024));
        assert_eq!(machine.os.as_deref(), Some("Some OS 12"));
        assert_eq!(machine.kernel.as_deref(), Some("6.1.0"));
        assert!(machine.virtual_machine && machine.cores >= 1);
        assert_eq!((machine.clocksource, machine.governor), (None, None));
    }

    #[test]
    fn a_machine_that_tells_nothing_is_no_error() {
        let empty = tempfile::tempdir().unwrap();
        let machine = Machine::read(empty.path());
        assert_eq!(Machine { cores: machine.cores, ..Machine::default() }, machine);
    }
}
