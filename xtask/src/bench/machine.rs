//! The machine of a measurement.

use std::fs;

/// Kinds of machine that targets are stated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// AVX-512 with VNNI.
    Avx512,
    /// AVX2 and no AVX-512.
    Avx2,
    Other,
}

/// The machine that this runs on.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Processor, instruction sets, cores and memory, as results name it.
    pub name: String,
    pub kind: Kind,
}

/// A state of the memory: on some virtual machines the bandwidth of two threads switches between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Slow,
    Fast,
    /// Of machines and tests that know no two states.
    Any,
}

impl Machine {
    pub fn this() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Self::parse(&cpuinfo, &meminfo)
    }

    fn parse(cpuinfo: &str, meminfo: &str) -> Self {
        let value = |name: &str| {
            let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(key, _)| key.trim() == name).map_or("", |(_, value)| value.trim())
        };
        let flags: Vec<&str> = value("flags").split_whitespace().collect();
        let has = |flag| flags.contains(&flag);
        let (kind, sets) = match () {
            () if has("avx512_vnni") && has("avx512_bf16") => (Kind::Avx512, "AVX-512 VNNI BF16"),
            () if has("avx512_vnni") => (Kind::Avx512, "AVX-512 VNNI"),
            () if has("avx2") && has("fma") => (Kind::Avx2, "AVX2"),
            () => (Kind::Other, "no AVX2"),
        };
        let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
        let kib = meminfo.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0);
        let (model, family) = (value("model name"), value("cpu family"));
        let name =
            format!("{model} (family {family}, model {}), {sets}, {cores} cores, {} GB", value("model"), kib >> 20);
        Self { name, kind }
    }

    /// The state that `inkstone bench` gives such a name. Targets for machines without AVX-512 have none.
    pub fn state(&self, name: &str) -> State {
        let states = [State::Slow, State::Fast].into_iter().filter(|_| self.kind == Kind::Avx512);
        states.into_iter().find(|state| state.name() == name).unwrap_or(State::Any)
    }
}

impl Kind {
    /// The instruction set that is used there, as `--isa` has it.
    pub fn isa(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Other => "portable",
        }
    }
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Fast => "fast",
            Self::Any => "any",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_named_by_processor_sets_cores_and_memory() {
        let core =
            "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: A CPU\nflags\t\t: fma avx2 avx512_vnni\n";
        let machine = Machine::parse(&core.repeat(2), "MemTotal:       25165824 kB\n");
        assert_eq!(machine.name, "A CPU (family 25, model 17), AVX-512 VNNI, 2 cores, 24 GB");
        assert_eq!(machine.kind, Kind::Avx512);
        let avx2 = Machine::parse(&core.replace("avx512_vnni", ""), "");
        assert_eq!((avx2.kind, avx2.state("slow")), (Kind::Avx2, State::Any));
        assert_eq!(Machine::parse("", "").kind, Kind::Other);
    }

    #[test]
    fn states_have_the_names_that_the_bench_gives_them() {
        let machine = Machine { name: String::new(), kind: Kind::Avx512 };
        let states = ["slow", "fast", "single"].map(|name| machine.state(name));
        assert_eq!(states, [State::Slow, State::Fast, State::Any]);
    }
}
