//! The whole suite with steps under way.

use crate::rig::AHEAD;
use std::process::Command;

#[test]
fn with_steps_under_way_every_test_of_this_suite_holds() {
    if std::env::var_os(AHEAD).is_some() {
        return;
    }
    for ahead in ["1", "2", "3", "4"] {
        let mut suite = Command::new(std::env::current_exe().unwrap());
        // A profile counts steps, of which there may be some that nobody needs.
        let output = suite.args(["--skip", "profile::"]).env(AHEAD, ahead).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{ahead} steps under way:\n{text}");
        assert!(text.contains("random_requests_have_the_outcome_of_their_options ... ok"), "{text}");
    }
}
