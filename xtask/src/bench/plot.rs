//! Plots tokens per second against the depth, as an SVG for light and dark pages.

use std::fmt::Write;

use super::record::{Record, What};

const MODEL: &str = "llama-3.2-1b-q4_k_m";
/// Of the picture, and of the area within the axes.
const SIZE: (f64, f64) = (640.0, 360.0);
const AREA: (f64, f64, f64, f64) = (56.0, 54.0, 612.0, 308.0);

const STYLE: &str = "\
text { font: 13px sans-serif; fill: #24292f; } .title { font-weight: bold; } .end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: #d0d7de; } .ours { stroke: #b5470f; fill: #b5470f; } .peer { stroke: #2563a8; fill: #2563a8; }
.line { fill: none; stroke-width: 2.5; } text.ours, text.peer { stroke: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .grid { stroke: #3d444d; } .ours { stroke: #ff9a62; fill: #ff9a62; } .peer { stroke: #79b8ff; fill: #79b8ff; }
.line { fill: none; } text.ours, text.peer { stroke: none; } }";

/// One line of the plot: depths and tokens per second.
type Points = Vec<(f64, f64)>;

/// The results of Inkstone and llama.cpp in the state of the memory that has results of most depths.
pub fn decode_by_depth(records: &[Record]) -> String {
    let fits = |r: &&Record| {
        let test = &r.test;
        let plain = test.what == What::Decode && test.threads == 2 && test.sequences == 1 && test.busy == 0;
        r.model == MODEL && plain && !r.aside && r.peer.starts_with("llama.cpp") && r.isa == "avx512"
    };
    let points = |state: &str| {
        let mut found: Vec<(usize, f64, f64)> = Vec::new();
        // The latest of each depth.
        for record in records.iter().filter(fits).filter(|r| r.state == state).rev() {
            if !found.iter().any(|(depth, ..)| *depth == record.test.depth) {
                found.push((record.test.depth, record.ours.median, record.theirs.median));
            }
        }
        found.sort_by_key(|(depth, ..)| *depth);
        found
    };
    let states = ["fast", "slow"].map(|state| (state, points(state)));
    let (state, found) = if states[0].1.len() >= states[1].1.len() { &states[0] } else { &states[1] };
    let line = |value: fn(&(usize, f64, f64)) -> f64| found.iter().map(|p| (p.0 as f64, value(p))).collect();
    let title = format!("{MODEL}: decode, 2 threads, AVX-512, {state} memory");
    draw(&title, "tokens in the cache", "tokens per second", &line(|p| p.1), &line(|p| p.2))
}

fn draw(title: &str, across: &str, up: &str, ours: &Points, peer: &Points) -> String {
    let (left, top, right, bottom) = AREA;
    let most = |value: fn(&(f64, f64)) -> f64| ours.iter().chain(peer).map(value).fold(0.0, f64::max);
    let (step_x, step_y) = (step(most(|p| p.0)), step(most(|p| p.1)));
    let (end_x, end_y) = (end(most(|p| p.0), step_x), end(most(|p| p.1), step_y));
    let x = |value: f64| left + (right - left) * value / end_x;
    let y = |value: f64| bottom - (bottom - top) * value / end_y;
    let (width, height) = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<text class=\"title\" x=\"{left}\" y=\"20\">{title}</text>\n\
         <text x=\"8\" y=\"38\">{up}</text>\n<text class=\"end\" x=\"{right}\" y=\"{}\">{across}</text>\n",
        height - 8.0
    );
    for value in ticks(end_y, step_y) {
        let at = y(value);
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>");
        let _ = writeln!(svg, "<text class=\"end\" x=\"{}\" y=\"{:.1}\">{value}</text>", left - 8.0, at + 4.0);
    }
    for value in ticks(end_x, step_x) {
        let _ = writeln!(svg, "<text class=\"middle\" x=\"{:.1}\" y=\"{}\">{value}</text>", x(value), bottom + 20.0);
    }
    for (class, name, points) in [("ours", "Inkstone", ours), ("peer", "llama.cpp", peer)] {
        let places: Vec<String> = points.iter().map(|p| format!("{:.1} {:.1}", x(p.0), y(p.1))).collect();
        let Some(last) = points.last() else { continue };
        let _ = writeln!(svg, "<path class=\"{class} line\" d=\"M{}\"/>", places.join("L"));
        for p in points {
            let _ = writeln!(svg, "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"/>", x(p.0), y(p.1));
        }
        let (at, above) = (x(last.0) - 8.0, y(last.1) - 10.0);
        let _ = writeln!(svg, "<text class=\"{class} end\" x=\"{at:.1}\" y=\"{above:.1}\">{name}</text>");
    }
    svg + "</svg>\n"
}

/// A round distance of some five marks up to `most`.
fn step(most: f64) -> f64 {
    let rough = (most / 5.0).max(1.0);
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(rough)
}

/// The first mark that is not below `most`.
fn end(most: f64, step: f64) -> f64 {
    (most / step).ceil().max(1.0) * step
}

fn ticks(end: f64, step: f64) -> impl Iterator<Item = f64> {
    (0..=(end / step).round() as u32).map(move |i| f64::from(i) * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_reach_the_most() {
        assert_eq!([42.0, 76.0, 4096.0, 0.0].map(step), [10.0, 20.0, 1000.0, 1.0]);
        assert_eq!((end(76.0, 20.0), end(80.0, 20.0), end(0.0, 1.0)), (80.0, 80.0, 1.0));
        assert_eq!(ticks(60.0, 20.0).collect::<Vec<_>>(), [0.0, 20.0, 40.0, 60.0]);
    }

    #[test]
    fn points_lie_where_the_axes_say() {
        let svg = draw("a", "b", "c", &vec![(0.0, 80.0), (4000.0, 0.0)], &Points::new());
        let (left, top, right, bottom) = AREA;
        for point in [(left, top), (right, bottom)] {
            assert!(svg.contains(&format!("cx=\"{:.1}\" cy=\"{:.1}\"", point.0, point.1)), "{point:?}: {svg}");
        }
        assert!(!svg.contains("llama.cpp"), "a line without points is left out");
    }

    #[test]
    fn without_results_there_are_axes() {
        assert!(decode_by_depth(&[]).contains("tokens in the cache"));
    }
}
