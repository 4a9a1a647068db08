//! A topology as an SVG picture.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::fmt::Write as _;

use super::Topology;

const SIDE: f64 = 480.0;
/// From the middle to the middle of a device.
const RADIUS: f64 = 180.0;
/// Of a device, where there is room.
const NODE: f64 = 20.0;
/// Room below for the legend.
const LEGEND: f64 = 40.0;

/// One for each island, again from the start when they run out; all of them carry black text.
const COLOURS: [&str; 8] = ["#8ecae6", "#ffb703", "#b7e4c7", "#e0aaff", "#f4a6a6", "#d4d4aa", "#a0d8d0", "#f7c6e0"];

impl Topology {
    /// The topology as an SVG picture that needs nothing else: devices on a circle, those of one
    /// [island](Topology::islands) in one colour, a line for access in both directions, an arrow for access
    /// in one, and dots where the driver could not say.
    ///
    /// An arrow leads from the accessor to the owner of the memory. A line whose link is known says so when
    /// it is pointed at.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let height = SIDE + LEGEND;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIDE} {height}\" width=\"{SIDE}\" \
             height=\"{height}\" font-family=\"sans-serif\" text-anchor=\"middle\">\n\
             <title>which of {} devices can access whose memory</title>\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#b03a2e\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            self.devices().len(),
        );
        let size = self.devices().len();
        for accessor in 0..size {
            for owner in (0..size).filter(|owner| *owner != accessor) {
                self.edge(&mut text, accessor, owner);
            }
        }
        let radius = radius(size);
        for (island, members) in self.islands().iter().enumerate() {
            let colour = COLOURS[island % COLOURS.len()];
            for device in members {
                let at = self.devices().iter().position(|other| other == device).unwrap_or(0);
                let ((x, y), ordinal) = (place(at, size), device.ordinal());
                put(
                    &mut text,
                    format_args!(
                        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{colour}\" stroke=\"#333\"/>\
                         <text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"{:.1}\">{ordinal}</text>",
                        y + radius * 0.28,
                        radius * 0.8
                    ),
                );
            }
        }
        let legend = ["grey line: each can access the other's · dots: unknown", "red arrow: one way, to whose memory"];
        for (line, words) in (1_u8..).zip(legend) {
            let (middle, below) = (SIDE / 2.0, SIDE + f64::from(line) * 16.0 - 8.0);
            put(
                &mut text,
                format_args!("<text x=\"{middle}\" y=\"{below}\" font-size=\"12\" fill=\"#333\">{words}</text>"),
            );
        }
        text + "</svg>\n"
    }

    fn edge(&self, text: &mut String, accessor: usize, owner: usize) {
        let (there, back) = (self.reaches(accessor, owner), self.reaches(owner, accessor));
        let style = match &self.cell(accessor, owner).can_access {
            Ok(true) if there && back && accessor > owner => return,
            Ok(true) if back => "stroke=\"#555\" stroke-width=\"1.2\"",
            Ok(true) => "stroke=\"#b03a2e\" stroke-width=\"1.6\" marker-end=\"url(#tip)\"",
            Ok(false) => return,
            Err(_) => "stroke=\"#888\" stroke-width=\"1.6\" stroke-dasharray=\"1 5\" stroke-linecap=\"round\"",
        };
        let size = self.devices().len();
        let ((x1, y1), (x2, y2)) = (place(accessor, size), place(owner, size));
        let length = (x2 - x1).hypot(y2 - y1);
        // From rim to rim, so that the tip of an arrow is seen.
        let (dx, dy) = ((x2 - x1) / length * radius(size), (y2 - y1) / length * radius(size));
        let (from, to) = (self.devices()[accessor].ordinal(), self.devices()[owner].ordinal());
        let link = self.cell(accessor, owner).link.get();
        let rank = link.map(|link| format!(", performance rank {}", link.performance_rank)).unwrap_or_default();
        put(
            text,
            format_args!(
                "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}>\
                 <title>device {from} to memory of device {to}{rank}</title></line>",
                x1 + dx,
                y1 + dy,
                x2 - dx,
                y2 - dy
            ),
        );
    }
}

/// The middle of one of `size` devices, clockwise from the top.
fn place(at: usize, size: usize) -> (f64, f64) {
    let middle = SIDE / 2.0;
    if size == 1 {
        return (middle, middle);
    }
    let angle = at as f64 / size as f64 * TAU - FRAC_PI_2;
    (middle + RADIUS * angle.cos(), middle + RADIUS * angle.sin())
}

/// Of each of `size` devices, so that neighbours do not touch.
fn radius(size: usize) -> f64 {
    NODE.min(TAU * RADIUS / size as f64 * 0.45)
}

fn put(text: &mut String, element: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{element}");
}
