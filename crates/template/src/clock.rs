//! `strftime_now`: formats the date as a template requests. Always UTC and English, independent of the settings of the
//! machine.

use crate::error::Result;
use crate::meter::Meter;
use crate::text::{Builder, Origin, Text};
use std::rc::Rc;

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
        // The calendar repeats after 400 years, 146,097 days, so the remaining days take a bounded number of rounds.
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

/// Flags and width between the `%` and the letter of a part.
struct How {
    /// The requested fill: `-`, `_` or `0`.
    pad: Option<char>,
    upper: bool,
    /// `#`: the other case.
    other_case: bool,
    width: usize,
    /// `E` or `O`: other digits and eras, which English does not have.
    modifier: Option<char>,
}

impl How {
    /// Parses the flags and the width after a `%`. Returns the rest from the letter on.
    fn of(mut rest: &str) -> (How, &str) {
        let mut how = How { pad: None, upper: false, other_case: false, width: 0, modifier: None };
        while let Some(flag) = rest.chars().next().filter(|c| matches!(c, '-' | '_' | '0' | '^' | '#')) {
            match flag {
                '^' => how.upper = true,
                '#' => how.other_case = true,
                // The last one counts.
                pad => how.pad = Some(pad),
            }
            rest = &rest[1..];
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        how.width = if digits == 0 { 0 } else { rest[..digits].parse().unwrap_or(usize::MAX) };
        rest = &rest[digits..];
        how.modifier = rest.chars().next().filter(|c| matches!(c, 'E' | 'O'));
        let rest = &rest[how.modifier.map_or(0, char::len_utf8)..];
        (how, rest)
    }

    /// Whether the letter can have the modifier.
    fn allows(&self, letter: char) -> bool {
        match self.modifier {
            None => true,
            Some('E') => matches!(
                letter,
                'c' | 'C'
                    | 'x'
                    | 'X'
                    | 'y'
                    | 'Y'
                    | 'n'
                    | 'P'
                    | 'p'
                    | 'r'
                    | 'R'
                    | 's'
                    | 't'
                    | 'T'
                    | 'u'
                    | 'Z'
                    | 'z'
                    | '%'
            ),
            Some(_) => !matches!(letter, 'a' | 'A' | 'c' | 'D' | 'F' | 'x' | 'X' | 'Y'),
        }
    }
}

/// A part of a date.
enum Part {
    /// A number, its minimum number of digits, and the fill before fewer digits.
    Number(i64, usize, char),
    Text(String),
    /// An empty text for any width.
    Nothing,
}

/// The format of C's `strftime`, as glibc has it, in English. Parts that are not known stay as they are.
pub(crate) fn formatted(now: i64, format: &Text, meter: &Rc<Meter>) -> Result<Text> {
    let date = Date::of(now);
    let mut out = Builder::new(meter)?;
    let most = longest(format.len());
    let mut at = 0;
    let whole = format.as_str();
    while let Some(found) = whole[at..].find('%').map(|found| at + found) {
        // A date is a little program.
        meter.values(64)?;
        out.text(&format.part(at..found))?;
        let (how, rest) = How::of(&whole[found + 1..]);
        let letter = rest.chars().next().filter(|letter| how.allows(*letter));
        let end = whole.len() - rest.len() + rest.chars().next().map_or(0, char::len_utf8);
        let plain = whole[found + 1..].starts_with('f');
        let written = if plain {
            Some(Part::Text("000000".to_string()))
        } else {
            letter.and_then(|letter| date.part(letter, now))
        };
        match written {
            Some(part) => part.write(&how, letter.unwrap_or_default(), most, &mut out)?,
            None => {
                let part = format.part(found..end);
                fill(&how, how.width.saturating_sub(part.len()), most, &mut out)?;
                for (c, origin) in part.chars_with_origin() {
                    if how.upper {
                        c.to_uppercase().try_for_each(|c| out.char(c, origin))?
                    } else {
                        out.char(c, origin)?
                    }
                }
            }
        }
        at = end;
    }
    out.text(&format.part(at..format.len()))?;
    // A result that exceeds the buffer of Python is empty.
    if out.len() >= most { Ok(Text::default()) } else { out.finish() }
}

/// The size of the buffer that Python allocates for the result of a format of this length.
fn longest(format: usize) -> usize {
    let mut bytes: usize = 1024;
    while bytes < format.saturating_mul(256) {
        bytes *= 2;
    }
    bytes
}

/// Writes the fill before a part to reach its width.
fn fill(how: &How, n: usize, most: usize, out: &mut Builder) -> Result<()> {
    let fill = if how.pad == Some('0') { "0" } else { " " };
    let fill = Text::new(out.meter(), fill, Origin::Template)?;
    out.repeat(&fill, n.min(most))
}

impl Part {
    fn write(self, how: &How, letter: char, most: usize, out: &mut Builder) -> Result<()> {
        match self {
            Part::Nothing => Ok(()),
            Part::Number(n, digits, pad) => {
                let shown = n.unsigned_abs().to_string();
                let sign = if n < 0 { "-" } else { "" };
                let missing = digits.max(how.width).saturating_sub(shown.len() + sign.len());
                match how.pad.unwrap_or(pad) {
                    '-' => fill(how, how.width.saturating_sub(shown.len() + sign.len()), most, out)?,
                    '_' => fill(&How { pad: Some('_'), ..*how }, missing, most, out)?,
                    _ => {
                        out.own(sign)?;
                        fill(&How { pad: Some('0'), ..*how }, missing, most, out)?;
                        return out.own(&shown);
                    }
                }
                out.own(sign)?;
                out.own(&shown)
            }
            Part::Text(text) => {
                fill(how, how.width.saturating_sub(text.len()), most, out)?;
                let lower = how.other_case && letter == 'p';
                let upper =
                    how.upper && letter != 'P' || how.other_case && matches!(letter, 'a' | 'A' | 'b' | 'B' | 'h');
                if lower {
                    out.own(&text.to_lowercase())
                } else {
                    out.own(&if upper { text.to_uppercase() } else { text })
                }
            }
        }
    }
}

impl Date {
    fn part(&self, letter: char, now: i64) -> Option<Part> {
        let (hour, minute, second) = (self.second / 3600, self.second / 60 % 60, self.second % 60);
        let twelve = (hour + 11) % 12 + 1;
        let month = MONTHS[(self.month - 1) as usize];
        let day = DAYS[self.weekday as usize];
        let noon = if hour < 12 { "AM" } else { "PM" };
        let number = |n: i64, digits: usize| Part::Number(n, digits, '0');
        let text = |text: &str| Part::Text(text.to_string());
        Some(match letter {
            'a' => text(&day[..3]),
            'A' => text(day),
            'b' | 'h' => text(&month[..3]),
            'B' => text(month),
            'c' => Part::Text(format!(
                "{} {} {:2} {hour:02}:{minute:02}:{second:02} {}",
                &day[..3],
                &month[..3],
                self.day,
                self.year
            )),
            'C' => number(self.year.div_euclid(100), 1),
            'd' => number(self.day, 2),
            'D' | 'x' => Part::Text(format!("{:02}/{:02}/{:02}", self.month, self.day, self.year.rem_euclid(100))),
            'e' => Part::Number(self.day, 2, '_'),
            'F' => Part::Text(format!("{}-{:02}-{:02}", self.year, self.month, self.day)),
            'g' => number(self.iso().0.rem_euclid(100), 2),
            'G' => number(self.iso().0, 1),
            'H' => number(hour, 2),
            'I' => number(twelve, 2),
            'j' => number(self.day_of_year, 3),
            'k' => Part::Number(hour, 2, '_'),
            'l' => Part::Number(twelve, 2, '_'),
            'm' => number(self.month, 2),
            'M' => number(minute, 2),
            'n' => text("\n"),
            'p' => text(noon),
            'P' => Part::Text(noon.to_lowercase()),
            'r' => Part::Text(format!("{twelve:02}:{minute:02}:{second:02} {noon}")),
            'R' => Part::Text(format!("{hour:02}:{minute:02}")),
            's' => Part::Text(now.to_string()),
            'S' => number(second, 2),
            't' => text("\t"),
            'T' | 'X' => Part::Text(format!("{hour:02}:{minute:02}:{second:02}")),
            'u' => number((self.weekday + 6) % 7 + 1, 1),
            'U' => number(self.week(0), 2),
            'V' => number(self.iso().1, 2),
            'w' => number(self.weekday, 1),
            'W' => number(self.week(1), 2),
            'y' => number(self.year.rem_euclid(100), 2),
            'Y' => number(self.year, 1),
            // The clock has no zone.
            'z' => Part::Nothing,
            'Z' => text(""),
            '%' => text("%"),
            _ => return None,
        })
    }
}
