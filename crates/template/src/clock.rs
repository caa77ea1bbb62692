//! `strftime_now`: the date in a template's words. UTC and English, whatever the machine is set to.

use crate::error::Result;
use crate::meter::Meter;
use crate::text::{Builder, Text};

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

/// A moment as people write it.
struct Date {
    year: i64,
    /// From 1.
    month: i64,
    /// From 1.
    day: i64,
    /// From 1.
    day_of_year: i64,
    /// From Sunday, 0.
    weekday: i64,
    /// Of the day.
    second: i64,
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Date {
    fn of(seconds: i64) -> Date {
        let days = seconds.div_euclid(86_400);
        // The calendar repeats after 400 years, 146,097 days: what is left takes a bounded number of rounds.
        let (mut year, mut left) = (1970 + days.div_euclid(146_097) * 400, days.rem_euclid(146_097));
        while left >= 365 + i64::from(is_leap(year)) {
            left -= 365 + i64::from(is_leap(year));
            year += 1;
        }
        let day_of_year = left + 1;
        let mut month = 1;
        while left >= days_of_month(year, month) {
            left -= days_of_month(year, month);
            month += 1;
        }
        let weekday = (days.rem_euclid(7) + 4) % 7;
        Date { year, month, day: left + 1, day_of_year, weekday, second: seconds.rem_euclid(86_400) }
    }

    /// Year and week of ISO 8601: weeks begin on Monday, and the first has the year's first Thursday.
    fn iso(&self) -> (i64, i64) {
        let weekday = (self.weekday + 6) % 7; // from Monday, 0
        let week = (self.day_of_year - 1 - weekday + 10) / 7;
        let weeks = |year: i64| {
            let first =
                |year: i64| (year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400)).rem_euclid(7);
            // Years that end on a Thursday, or begin on one.
            if first(year) == 4 || first(year - 1) == 3 { 53 } else { 52 }
        };
        match week {
            0 => (self.year - 1, weeks(self.year - 1)),
            53 if weeks(self.year) == 52 => (self.year + 1, 1),
            week => (self.year, week),
        }
    }

    /// The week of the year, from 0, if weeks begin on this day (Sunday is 0).
    fn week(&self, begins: i64) -> i64 {
        (self.day_of_year + 6 - (self.weekday - begins).rem_euclid(7)) / 7
    }
}

/// The format of C's `strftime`, as glibc has it, in English. Parts that are not known stay as they are.
pub(crate) fn format(now: i64, format: &Text, out: &mut Builder, meter: &Meter) -> Result<()> {
    let date = Date::of(now);
    let mut at = 0;
    let whole = format.as_str();
    while let Some(found) = whole[at..].find('%').map(|found| at + found) {
        // A date is a little program.
        meter.values(64)?;
        out.text(&format.part(at..found))?;
        let spec = whole[found + 1..].trim_start_matches(['-', '_', '0', '^', '#', 'E', 'O']);
        let flags = &whole[found + 1..whole.len() - spec.len()];
        let end = whole.len() - spec.len() + spec.chars().next().map_or(0, char::len_utf8);
        let written = spec.chars().next().and_then(|letter| date.part(letter, now, flags));
        match written {
            Some(text) => {
                let upper = flags.contains('^') || flags.contains('#');
                out.own(&if upper { text.to_uppercase() } else { text })?;
            }
            None => out.text(&format.part(found..end))?,
        }
        at = end;
    }
    out.text(&format.part(at..format.len()))
}

impl Date {
    fn part(&self, letter: char, now: i64, flags: &str) -> Option<String> {
        let (hour, minute, second) = (self.second / 3600, self.second / 60 % 60, self.second % 60);
        let twelve = (hour + 11) % 12 + 1;
        let month = MONTHS[(self.month - 1) as usize];
        let day = DAYS[self.weekday as usize];
        // The last flag counts.
        let fill = flags.chars().rev().find(|flag| matches!(flag, '-' | '_' | '0'));
        let number = |n: i64, width: usize, default: char| match fill.unwrap_or(default) {
            '-' => n.to_string(),
            '_' => format!("{n:width$}"),
            _ => format!("{n:0width$}"),
        };
        let noon = if hour < 12 { "AM" } else { "PM" };
        Some(match letter {
            'a' => day[..3].to_string(),
            'A' => day.to_string(),
            'b' | 'h' => month[..3].to_string(),
            'B' => month.to_string(),
            'c' => {
                format!("{} {} {:2} {hour:02}:{minute:02}:{second:02} {}", &day[..3], &month[..3], self.day, self.year)
            }
            'C' => number(self.year.div_euclid(100), 2, '0'),
            'd' => number(self.day, 2, '0'),
            'D' | 'x' => format!("{:02}/{:02}/{:02}", self.month, self.day, self.year.rem_euclid(100)),
            'e' => number(self.day, 2, '_'),
            'f' => "000000".to_string(),
            'F' => format!("{}-{:02}-{:02}", self.year, self.month, self.day),
            'g' => number(self.iso().0.rem_euclid(100), 2, '0'),
            'G' => self.iso().0.to_string(),
            'H' => number(hour, 2, '0'),
            'I' => number(twelve, 2, '0'),
            'j' => number(self.day_of_year, 3, '0'),
            'k' => number(hour, 2, '_'),
            'l' => number(twelve, 2, '_'),
            'm' => number(self.month, 2, '0'),
            'M' => number(minute, 2, '0'),
            'n' => "\n".to_string(),
            'p' if flags.contains('#') => noon.to_lowercase(),
            'p' => noon.to_string(),
            'P' => noon.to_lowercase(),
            'r' => format!("{twelve:02}:{minute:02}:{second:02} {noon}"),
            'R' => format!("{hour:02}:{minute:02}"),
            's' => now.to_string(),
            'S' => number(second, 2, '0'),
            't' => "\t".to_string(),
            'T' | 'X' => format!("{hour:02}:{minute:02}:{second:02}"),
            'u' => ((self.weekday + 6) % 7 + 1).to_string(),
            'U' => number(self.week(0), 2, '0'),
            'V' => number(self.iso().1, 2, '0'),
            'w' => self.weekday.to_string(),
            'W' => number(self.week(1), 2, '0'),
            'y' => number(self.year.rem_euclid(100), 2, '0'),
            'Y' => self.year.to_string(),
            // The clock has no zone.
            'z' | 'Z' => String::new(),
            '%' => "%".to_string(),
            _ => return None,
        })
    }
}
