//! When and of which commit results are.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::command::Program;
use crate::error::Error;

/// Today in UTC, as 2026-11-22.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    date(seconds / 86_400)
}

/// The date so many days after 1970-01-01. Years begin in March, so that leap days end them.
pub fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + u64::from(month <= 2))
}

/// The commit of the checkout, in short, with a plus if files differ from it.
pub fn commit(root: &Path) -> Result<String, Error> {
    let git =
        |line: &str| Program::new(line, root).stdout().map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    let changed = git("git status --porcelain --untracked-files=no -- crates Cargo.lock")?;
    Ok(format!("{}{}", git("git rev-parse --short=10 HEAD")?, if changed.is_empty() { "" } else { "+" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_of_the_calendar() {
        let known = [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_779, "2026-11-22")];
        assert_eq!(known.map(|(days, _)| date(days)), known.map(|(_, text)| text.to_owned()));
    }
}
