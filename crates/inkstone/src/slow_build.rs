//! The note of a model in a debug build. There Cargo compiles dependencies without optimisation, unless the manifest of the
//! program says otherwise, and only the speed shows it.

/// Lines for the `Cargo.toml` of a program: Cargo then optimises dependencies in debug builds.
const LINES: &str = "[profile.dev.package.\"*\"]\nopt-level = 3";

/// The note, if an engine that was compiled with this `opt-level` is slow.
pub(crate) fn note(opt_level: &str) -> Option<String> {
    let slow = matches!(opt_level, "0" | "1");
    slow.then(|| {
        format!(
            "the engine was compiled with opt-level {opt_level} and is up to 175 times slower than in a release build; \
             these lines in Cargo.toml make debug builds fast:\n{LINES}"
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
        // The manifest of the workspace sets 2 for tests, and a release has 3.
        assert!(["2", "3"].contains(&inkstone_engine_cpu::OPT_LEVEL), "{}", inkstone_engine_cpu::OPT_LEVEL);
    }
}
