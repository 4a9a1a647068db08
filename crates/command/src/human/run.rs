//! A launch, its memory and the findings.

use super::Style;
use super::devices::driver;
use super::quantity::{bytes, count, significant};
use super::table::{Side, Table};
use crate::report::{LaunchReport, MemoryReport, Number, RunReport};

/// Rows that are shown at the start and at the end of a long table.
const ENDS: usize = 5;
/// Columns of a matrix that are shown at the start and at the end of a long row.
const COLUMN_ENDS: usize = 4;

pub(crate) fn run(report: &RunReport, all: bool, style: Style) -> String {
    let mangled = report.source_name.as_ref().map(|_| format!(" ({})", report.kernel)).unwrap_or_default();
    let name = style.heading(report.source_name.as_ref().unwrap_or(&report.kernel));
    let mut text = format!(
        "{name}{mangled} on {}
  {}
",
        driver(&report.driver),
        launch(&report.launch)
    );
    if let Some(compiler) = &report.compiler {
        text += &format!("  compiled by NVRTC {} for {}\n", compiler.nvrtc, compiler.architecture);
        text += &indented(&compiler.log);
    }
    if !report.output.is_empty() {
        text += &format!("\n{}\n{}", style.heading("output"), indented(&report.output));
    }
    if !report.memory.is_empty() {
        text += &format!("\n{}", memory(&report.memory, style));
    }
    text += &values(&report.memory, all, style);
    for memory in &report.memory {
        text.extend(memory.pictures.iter().map(|file| format!("\n  {}: picture in {file}\n", memory.name)));
    }
    if let Some(error) = &report.error {
        text += &format!("\n{} {error}\n", style.mark(false));
    }
    for finding in &report.findings {
        text += &format!("\n{} {}\n", style.mark(false), finding.to_string().trim_end().replace('\n', "\n  "));
    }
    if report.checked && report.findings.is_empty() && report.error.is_none() {
        text += &format!("\n{} no findings\n", style.mark(true));
    }
    text
}

/// One line about a launch.
fn launch(report: &LaunchReport) -> String {
    let shape = |[x, y, z]: [u32; 3]| match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}×{y}"),
        _ => format!("{x}×{y}×{z}"),
    };
    let noun = |axes, one, many| if axes == [1, 1, 1] { one } else { many };
    let (blocks, threads) = (noun(report.grid, "block", "blocks"), noun(report.block, "thread", "threads"));
    let mut text = format!("{} {blocks} of {} {threads}", shape(report.grid), shape(report.block));
    if let Some(milliseconds) = report.milliseconds {
        let clock = if report.virtual_time { " (virtual time)" } else { "" };
        text += &format!(", {milliseconds:.4} ms{clock}");
    }
    text += &format!(", {}", count(report.registers.max(0).unsigned_abs() as usize, "register"));
    let shared = u64::from(report.dynamic_shared_bytes) + u64::from(report.static_shared_bytes.max(0).unsigned_abs());
    if shared > 0 {
        text += &format!(", {} of shared memory", bytes(shared));
    }
    if report.local_bytes > 0 {
        text += &format!(", {} of local memory", bytes(report.local_bytes.unsigned_abs().into()));
    }
    let each = count(report.blocks_per_multiprocessor as usize, "block");
    text + &format!(", {each} per SM ({:.0} % occupancy)", report.occupancy * 100.0)
}

/// The statistics of all memory.
fn memory(all: &[MemoryReport], style: Style) -> String {
    let mut table = Table::new([
        ("memory", Side::Left),
        ("type", Side::Left),
        ("n", Side::Right),
        ("min", Side::Right),
        ("max", Side::Right),
        ("mean", Side::Right),
        ("NaN", Side::Right),
    ]);
    let number = |number: Option<Number>| number.map_or_else(|| "–".to_owned(), shown);
    for memory in all {
        table.row([
            memory.name.clone(),
            memory.element.to_owned(),
            memory.size.iter().map(usize::to_string).collect::<Vec<_>>().join("x"),
            number(memory.statistics.min),
            number(memory.statistics.max),
            number(memory.statistics.mean.map(Number::Double)),
            memory.statistics.nan.to_string(),
        ]);
    }
    table.render(style)
}

/// The values of memory that is to be printed: rows of one dimension side by side, and a matrix for each of
/// more.
fn values(all: &[MemoryReport], every: bool, style: Style) -> String {
    let printed = || all.iter().filter_map(|memory| Some((memory, memory.values.as_deref()?)));
    let mut text = String::new();
    let columns: Vec<(&str, &[Number])> = printed()
        .filter(|(memory, _)| memory.size.len() == 1)
        .map(|(memory, values)| (memory.name.as_str(), values))
        .collect();
    if !columns.is_empty() {
        text += &format!("\n{}", side_by_side(&columns, every, style));
    }
    for (memory, values) in printed().filter(|(memory, _)| memory.size.len() > 1) {
        text += &matrices(memory, values, every, style);
    }
    text
}

fn side_by_side(columns: &[(&str, &[Number])], every: bool, style: Style) -> String {
    let titles = columns.iter().map(|(name, _)| (*name, Side::Right));
    let mut table = Table::of_columns([("i", Side::Right)].into_iter().chain(titles));
    let rows = columns.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    for index in ends(rows, ENDS, every) {
        let cell = |values: &[Number], index: usize| values.get(index).copied().map(shown).unwrap_or_default();
        table.push(match index {
            Some(index) => {
                let cells = columns.iter().map(|(_, values)| cell(values, index));
                [index.to_string()].into_iter().chain(cells).collect()
            }
            None => vec!["…".to_owned(); columns.len() + 1],
        });
    }
    table.render(style)
}

/// A matrix with the first dimension across, for each index of the third.
fn matrices(memory: &MemoryReport, values: &[Number], every: bool, style: Style) -> String {
    let [width, height, ..] = memory.size[..] else { return String::new() };
    let depth = memory.size.get(2).copied().unwrap_or(1);
    let mut text = String::new();
    for plane in ends(depth, ENDS, every) {
        let Some(plane) = plane else {
            text += "\n  …\n";
            continue;
        };
        let which = if depth == 1 { String::new() } else { format!("[{plane}]") };
        text += &format!("\n  {}{which}\n", memory.name);
        let columns: Vec<Option<usize>> = ends(width, COLUMN_ENDS, every).collect();
        let mut table = Table::of_columns(vec![("", Side::Right); columns.len() + 1]);
        let index = |index: Option<usize>| index.map_or_else(|| "…".to_owned(), |index| index.to_string());
        table.push([String::new()].into_iter().chain(columns.iter().copied().map(index)).collect());
        for row in ends(height, ENDS, every) {
            let cell = |column: &Option<usize>| match row.zip(*column) {
                Some((row, column)) => shown(values[(plane * height + row) * width + column]),
                None => "…".to_owned(),
            };
            table.push([index(row)].into_iter().chain(columns.iter().map(cell)).collect());
        }
        text += table.render(style).trim_start_matches('\n');
    }
    text
}

/// The indices below `count`, or the first and the last of them with `None` for those in between.
fn ends(count: usize, shown: usize, every: bool) -> impl Iterator<Item = Option<usize>> {
    let is_short = every || count <= 2 * shown + 1;
    let first = if is_short { count } else { shown };
    let last = if is_short { count } else { count - shown };
    let gap = (!is_short).then_some(None);
    (0..first).map(Some).chain(gap).chain((last..count).map(Some))
}

/// A value of at most seven digits; integers have all of theirs.
fn shown(number: Number) -> String {
    match number {
        Number::Integer(integer) => integer.to_string(),
        Number::Single(float) => significant(float.into()),
        Number::Double(float) => significant(float),
    }
}

fn indented(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_are_cut_in_the_middle() {
        let all: Vec<_> = ends(12, 5, false).collect();
        assert_eq!((all.len(), all[4], all[5], all[6]), (11, Some(4), None, Some(7)));
        assert_eq!(ends(11, 5, false).flatten().count(), 11);
        assert_eq!(ends(100, 5, true).flatten().count(), 100);
    }
}
