//! Plots of measurements as one SVG picture: heat maps of bandwidth, and bars of costs.

use crate::report::{BandwidthReport, BenchReport};
use crate::svg::escaped;

const MARGIN: f64 = 24.0;
/// The height of a line of text.
const LINE: f64 = 18.0;
/// A cell of a heat map.
const CELL: (f64, f64) = (62.0, 30.0);
/// The width of row titles, and of the longest bar.
const TITLES: f64 = 220.0;
const BARS: f64 = 420.0;

/// A picture under construction, from the top down.
struct Canvas {
    elements: String,
    width: f64,
    y: f64,
}

/// The measurements of a report as SVG.
pub(crate) fn bench(report: &BenchReport) -> String {
    let mut canvas = Canvas { elements: String::new(), width: 0.0, y: MARGIN };
    let clock = if report.virtual_time { ", virtual time" } else { "" };
    if let Some(bandwidth) = &report.bandwidth {
        let size = report.devices.len();
        let one_way = |from, to| place(bandwidth, from, to, false);
        canvas.heat_map(&format!("Bandwidth in GB/s, one way{clock}"), size + 1, one_way);
        canvas.heat_map(&format!("Bandwidth in GB/s, both ways at once{clock}"), size + 1, |from, to| {
            place(bandwidth, from, to, true)
        });
    }
    if let Some(calls) = &report.calls {
        let bars = calls
            .iter()
            .map(|call| (call.operation.to_owned(), call.nanoseconds, format!("{:.0} ns", call.nanoseconds)));
        canvas.bars("Host time of an operation", bars.collect());
    }
    if let Some(kernels) = &report.kernels {
        let bars = kernels.iter().map(|kernel| {
            let title = format!("{}, {}", kernel.kernel, kernel.size);
            let text = format!("{:.4} ms, {:.1} {}", kernel.milliseconds, kernel.rate, kernel.unit);
            (title, kernel.milliseconds, text)
        });
        canvas.bars(&format!("Kernels{clock}"), bars.collect());
    }
    canvas.finish()
}

/// The bandwidth from a place to a place, of which the first is the host.
fn place(report: &BandwidthReport, from: usize, to: usize, both: bool) -> Option<f64> {
    let host = |device: usize| report.host.iter().find(|row| row.device as usize + 1 == device);
    match (from, to) {
        (0, 0) => None,
        (0, device) => host(device).map(|row| if both { row.both } else { row.to_device }),
        (device, 0) => host(device).map(|row| if both { row.both } else { row.to_host }),
        (from, to) => {
            let pair = report.pair(from - 1, to - 1)?;
            if both { pair.both } else { Some(pair.one_way) }
        }
    }
}

impl Canvas {
    fn add(&mut self, element: &str) {
        self.elements += element;
        self.elements.push('\n');
    }

    fn title(&mut self, text: &str) {
        self.add(&format!(
            "<text x=\"{MARGIN}\" y=\"{:.1}\" font-weight=\"bold\" font-size=\"14\">{}</text>",
            self.y + 12.0,
            escaped(text)
        ));
        self.y += LINE + 10.0;
    }

    /// Rows are places from which bytes go, columns those that they go to; the first is the host.
    fn heat_map(&mut self, title: &str, places: usize, rate: impl Fn(usize, usize) -> Option<f64>) {
        self.title(title);
        let name = |place: usize| if place == 0 { "host".to_owned() } else { (place - 1).to_string() };
        let largest = (0..places).flat_map(|from| (0..places).map(move |to| (from, to)));
        let largest = largest.filter_map(|(from, to)| rate(from, to)).fold(0.0, f64::max);
        let left = MARGIN + CELL.0;
        for place in 0..places {
            let x = left + (place as f64 + 0.5) * CELL.0;
            self.add(&format!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                self.y + 12.0,
                name(place)
            ));
        }
        self.y += LINE;
        for from in 0..places {
            let middle = self.y + CELL.1 / 2.0 + 4.0;
            self.add(&format!(
                "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                name(from)
            ));
            for to in 0..places {
                let x = left + to as f64 * CELL.0;
                let Some(rate) = rate(from, to) else { continue };
                let share = if largest > 0.0 { rate / largest } else { 0.0 };
                let text = if share > 0.55 { "white" } else { "black" };
                self.add(&format!(
                    "<g><title>{} to {}: {:.1} GB/s</title><rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                     fill=\"{}\"/><text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"middle\" fill=\"{text}\">{:.0}</text></g>",
                    name(from),
                    name(to),
                    rate / 1e9,
                    self.y,
                    CELL.0 - 2.0,
                    CELL.1 - 2.0,
                    colour(share),
                    x + CELL.0 / 2.0 - 1.0,
                    rate / 1e9,
                ));
            }
            self.y += CELL.1;
        }
        self.width = self.width.max(left + places as f64 * CELL.0);
        self.y += MARGIN;
    }

    /// Bars with a title each, as long as their values.
    fn bars(&mut self, title: &str, bars: Vec<(String, f64, String)>) {
        self.title(title);
        let largest = bars.iter().map(|(_, value, _)| *value).fold(f64::MIN_POSITIVE, f64::max);
        for (title, value, text) in &bars {
            let (left, middle) = (MARGIN + TITLES, self.y + LINE - 5.0);
            let length = (value / largest * BARS).max(1.0);
            self.add(&format!(
                "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                escaped(title)
            ));
            self.add(&format!(
                "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{length:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
                self.y + 2.0,
                LINE - 4.0,
                colour(0.6)
            ));
            self.add(&format!("<text x=\"{:.1}\" y=\"{middle:.1}\">{}</text>", left + length + 6.0, escaped(text)));
            self.y += LINE + 4.0;
        }
        // Room for the text behind the longest bar.
        self.width = self.width.max(MARGIN + TITLES + BARS + 240.0);
        self.y += MARGIN;
    }

    fn finish(self) -> String {
        let (width, height) = (self.width + MARGIN, self.y);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" \
             fill=\"white\"/>\n{}</svg>\n",
            self.elements
        )
    }
}

/// From a light yellow over green to a dark blue, by the share of the largest value.
fn colour(share: f64) -> String {
    const STEPS: [[f64; 3]; 4] =
        [[254.0, 249.0, 217.0], [161.0, 218.0, 180.0], [44.0, 127.0, 184.0], [18.0, 40.0, 110.0]];
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let at = share * (STEPS.len() - 1) as f64;
    let index = (at as usize).min(STEPS.len() - 2);
    let mixed = |channel: usize| {
        let (from, to) = (STEPS[index][channel], STEPS[index + 1][channel]);
        (from + (to - from) * (at - index as f64)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_from_light_to_dark() {
        assert_eq!([colour(0.0), colour(1.0), colour(f64::NAN)], ["#fef9d9", "#12286e", "#fef9d9"]);
    }

    #[test]
    fn a_heat_map_has_a_cell_for_each_rate() {
        let mut canvas = Canvas { elements: String::new(), width: 0.0, y: 0.0 };
        canvas.heat_map("a & b", 3, |from, to| (from != to).then_some(1e9));
        canvas.bars("costs", vec![("<launch>".to_owned(), 5.0, "5 ns".to_owned())]);
        let svg = canvas.finish();
        assert_eq!((svg.matches("<g>").count(), svg.matches("<rect").count()), (6, 6 + 1 + 1), "{svg}");
        assert!(svg.contains("a &amp; b") && svg.contains("&lt;launch&gt;") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains("<title>host to 1: 1.0 GB/s</title>"), "{svg}");
    }
}
