//! Tables of plain text.

/// Formats rows as lines. Each column has the width of its widest cell; the first `texts` columns are aligned to the
/// left, the others to the right.
pub(super) fn lines<const N: usize>(rows: &[Line<N>], texts: usize) -> Vec<String> {
    let cells = |i: usize| {
        rows.iter().filter_map(move |r| if let Line::Cells(c) = r { Some(c[i].chars().count()) } else { None })
    };
    let widths: [usize; N] = std::array::from_fn(|i| cells(i).max().unwrap_or(0));
    let line = |row: &Line<N>| match row {
        Line::Alone(text) => text.clone(),
        Line::Cells(cells) => {
            let cells = cells.iter().zip(widths).enumerate();
            let cell = |(i, (cell, width)): (usize, (&String, usize))| {
                if i < texts { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            };
            cells.map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
        }
    };
    rows.iter().map(line).collect()
}

/// A line of a table.
pub(super) enum Line<const N: usize> {
    /// One cell per column.
    Cells([String; N]),
    /// A text across all columns.
    Alone(String),
}

/// Three digits and a unit: `1.23 MB`.
pub(super) fn figure(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let (mut value, mut prefix) = (value, 0);
    while value >= 999.5 && prefix + 1 < PREFIXES.len() {
        value /= 1000.0;
        prefix += 1;
    }
    let digits = if prefix == 0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}{unit}", PREFIXES[prefix]).trim_end().to_owned()
}

/// `1 thread`, `2 threads`.
pub(super) fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        for (n, wanted) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (99_960, "100 kB"),
            (999_600, "1.00 MB"),
            (5_912_345, "5.91 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(figure(n as f64, "B"), wanted);
        }
        assert_eq!((figure(12.0, ""), figure(12_345.0, "")), ("12".to_owned(), "12.3 k".to_owned()));
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "n"], ["bcd", "10"]].map(|cells| Line::Cells(cells.map(str::to_owned)));
        let rows: Vec<_> = rows.into_iter().chain([Line::Alone("longer than all".to_owned())]).collect();
        assert_eq!(lines(&rows, 1), ["a     n", "bcd  10", "longer than all"]);
    }
}
