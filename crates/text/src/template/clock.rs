//! `strftime_now`: the date in a template's words. UTC and English, whatever the machine is set to.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A moment as people write it. Before 1970 it is the first moment of 1970.
struct Date {
    year: u64,
    /// From 1.
    month: u64,
    /// From 1.
    day: u64,
    /// From 1.
    day_of_year: u64,
    /// From Sunday, 0.
    weekday: u64,
    second: u64,
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Date {
    fn of(now: SystemTime) -> Date {
        let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let days = seconds / 86_400;
        // The calendar repeats after 400 years, 146,097 days: what is left takes a bounded number of rounds.
        let (mut year, mut left) = (1970 + days / 146_097 * 400, days % 146_097);
        while left >= 365 + u64::from(is_leap(year)) {
            left -= 365 + u64::from(is_leap(year));
            year += 1;
        }
        let day_of_year = left + 1;
        let mut month = 1;
        while left >= days_of_month(year, month) {
            left -= days_of_month(year, month);
            month += 1;
        }
        Date { year, month, day: left + 1, day_of_year, weekday: (days + 4) % 7, second: seconds % 86_400 }
    }
}

/// The format of C's `strftime`, the parts of it that templates use; a part that is not known is an error, by its letter.
pub(super) fn format(now: SystemTime, format: &str) -> Result<String, char> {
    let date = Date::of(now);
    let (hour, minute, second) = (date.second / 3600, date.second / 60 % 60, date.second % 60);
    let (month, day) = (MONTHS[date.month as usize - 1], DAYS[date.weekday as usize]);
    let noon = if hour < 12 { "AM" } else { "PM" };
    let hour_of_12 = (hour + 11) % 12 + 1;
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let mut letter = letters.next().ok_or('%')?;
        let bare = letter == '-';
        if bare {
            letter = letters.next().ok_or('-')?;
        }
        let width = if bare { 0 } else { 2 };
        let done = match letter {
            'Y' => write!(out, "{}", date.year),
            'y' => write!(out, "{:0width$}", date.year % 100),
            'm' => write!(out, "{:0width$}", date.month),
            'd' => write!(out, "{:0width$}", date.day),
            'e' => write!(out, "{:width$}", date.day),
            'H' => write!(out, "{hour:0width$}"),
            'I' => write!(out, "{hour_of_12:0width$}"),
            'M' => write!(out, "{minute:0width$}"),
            'S' => write!(out, "{second:0width$}"),
            'j' => write!(out, "{:0w$}", date.day_of_year, w = if bare { 0 } else { 3 }),
            'B' => write!(out, "{month}"),
            'b' | 'h' => write!(out, "{}", &month[..3]),
            'A' => write!(out, "{day}"),
            'a' => write!(out, "{}", &day[..3]),
            'p' => write!(out, "{noon}"),
            'F' => write!(out, "{}-{:02}-{:02}", date.year, date.month, date.day),
            'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
            'w' => write!(out, "{}", date.weekday),
            'Z' => write!(out, "UTC"),
            'z' => write!(out, "+0000"),
            '%' => write!(out, "%"),
            other => return Err(other),
        };
        // Writing to a string does not fail.
        done.unwrap_or_default();
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Wanted: Python's `datetime.strftime`.
    #[test]
    fn dates_are_those_of_python() {
        let cases = [
            (0, "%d %b %Y, %A", "01 Jan 1970, Thursday"),
            (951_782_400, "%Y-%m-%d %a %j", "2000-02-29 Tue 060"),
            (4_107_542_399, "%F %T %I %p", "2100-02-28 23:59:59 11 PM"),
            (1_785_542_400, "%-d/%-m/%y %B %e%%", "1/8/26 August  1%"),
            (1_785_542_400, "%H:%M:%S", "00:00:00"),
        ];
        for (seconds, wanted_format, wanted) in cases {
            let now = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(format(now, wanted_format).unwrap(), wanted, "{seconds}");
        }
        assert_eq!(format(UNIX_EPOCH, "%Q"), Err('Q'));
        assert_eq!(format(UNIX_EPOCH, "%"), Err('%'));
    }
}
