//! The note of a debug build. Cargo compiles dependencies without optimisation there, unless a program's manifest says
//! otherwise, and nothing but the speed shows it.

/// What a program adds to its `Cargo.toml`: its dependencies are optimised, also in debug builds.
const LINES: &str = "[profile.dev.package.\"*\"]\nopt-level = 3";

/// The note, if an engine that was compiled with this `opt-level` is slow.
pub(crate) fn note(opt_level: &str) -> Option<String> {
    let slow = matches!(opt_level, "0" | "1");
    slow.then(|| {
        format!(
            "the engine was compiled with opt-level {opt_level} and is up to 175 times slower than in a release build; \
             these lines in Cargo.toml make a debug build fast, too:\n{LINES}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_builds_without_optimisation_have_a_note() {
        for level in ["0", "1"] {
            let note = note(level).unwrap();
            assert!(note.contains(&format!("opt-level {level} ")) && note.ends_with(LINES), "{note}");
        }
        for level in ["2", "3", "s", "z", ""] {
            assert_eq!(note(level), None, "{level}");
        }
        // What Cargo told the engine of this build: the manifest of the workspace asks for 2, that of a release for 3.
        assert!(["2", "3"].contains(&inkstone_engine_cpu::OPT_LEVEL), "{}", inkstone_engine_cpu::OPT_LEVEL);
    }
}
