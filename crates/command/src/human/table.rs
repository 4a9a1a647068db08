//! Columns that line up.

use super::Style;

/// Columns are not made narrower than this.
const NARROWEST: usize = 8;

/// The alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Rows under a header, indented by two.
#[derive(Debug)]
pub(crate) struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(columns: [(&str, Side); N]) -> Table {
        let header = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
        Table { sides: columns.iter().map(|(_, side)| *side).collect(), rows: vec![header] }
    }

    /// A table whose columns are known at run time.
    pub(crate) fn of_columns<'t>(columns: impl IntoIterator<Item = (&'t str, Side)>) -> Table {
        let (header, sides) = columns.into_iter().map(|(title, side)| (title.to_owned(), side)).unzip();
        Table { sides, rows: vec![header] }
    }

    pub(crate) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// The rows as lines. Where they are wider than the output, the widest columns with text on the left are
    /// narrowed, and their cells take several lines.
    pub(crate) fn render(&self, style: Style) -> String {
        let mut widths: Vec<usize> = (0..self.sides.len()).map(|column| self.width(column)).collect();
        if let Some(limit) = style.width() {
            self.narrow(&mut widths, limit);
        }
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<Vec<String>> = row.iter().zip(&widths).map(|(cell, width)| wrap(cell, *width)).collect();
            for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut line = String::from(" ");
                for ((cell, width), side) in cells.iter().zip(&widths).zip(&self.sides) {
                    let cell = cell.get(at).map_or("", String::as_str);
                    line += &match side {
                        Side::Left => format!(" {cell:<width$} "),
                        Side::Right => format!(" {cell:>width$} "),
                    };
                }
                text += line.trim_end();
                text.push('\n');
            }
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    /// Takes from the widest column with text on the left until the rows fit, or until each has its least
    /// width.
    fn narrow(&self, widths: &mut [usize], limit: usize) {
        loop {
            // Each column has a space on both sides; the last one's right side is cut off.
            let total = widths.iter().map(|width| width + 2).sum::<usize>();
            let left =
                widths.iter_mut().zip(&self.sides).filter(|(width, side)| **side == Side::Left && **width > NARROWEST);
            match left.map(|(width, _)| width).max() {
                Some(widest) if total > limit => *widest -= 1,
                _ => return,
            }
        }
    }
}

/// A text in lines of at most `width` characters, broken at spaces where there are some.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        let gap = usize::from(used > 0);
        if used > 0 && used + gap + word.len() > width {
            lines.push(String::new());
            used = 0;
        }
        while word.len() > width.max(1) && used == 0 {
            let rest = word.split_off(width.max(1));
            lines.last_mut().into_iter().for_each(|line| line.extend(word.drain(..)));
            lines.push(String::new());
            word = rest;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            used += word.len();
            line.extend(word);
        }
    }
    lines
}

/// A square of marks: accessors down, owners across.
pub(crate) fn matrix(size: usize, mark: impl Fn(usize, usize) -> char) -> String {
    let width = size.saturating_sub(1).to_string().len();
    let header: String = (0..size).map(|owner| format!(" {owner:>width$}")).collect();
    let mut text = format!("  {:>width$} {header}\n", "");
    for accessor in 0..size {
        let cells: String = (0..size).map(|owner| format!(" {:>width$}", mark(accessor, owner))).collect();
        text += &format!("  {accessor:>width$} {cells}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new([("#", Side::Right), ("name", Side::Left), ("memory", Side::Right)]);
        table.row(["0".to_owned(), "größer".to_owned(), "80 GiB".to_owned()]);
        table.row(["10".to_owned(), "x".to_owned(), "1 B".to_owned()]);
        assert_eq!(table.render(Style::plain()), "   #  name    memory\n   0  größer  80 GiB\n  10  x          1 B\n");
    }

    #[test]
    fn cells_wider_than_the_output_take_several_lines() {
        let mut table = Table::new([("#", Side::Right), ("name", Side::Left)]);
        table.row(["7".to_owned(), "a card of many words".to_owned()]);
        assert_eq!(table.render(Style::of_width(16)), "  #  name\n  7  a card of\n     many words\n");
        assert_eq!(
            table.render(Style::of_width(3)),
            "  #  name\n  7  a card\n     of many\n     words\n",
            "least width"
        );
        assert_eq!(table.render(Style::of_width(80)), "  #  name\n  7  a card of many words\n");
    }

    #[test]
    fn a_long_word_is_broken_between_lines() {
        assert_eq!(wrap("/usr/lib/libcuda.so.1 is a library", 10), ["/usr/lib/l", "ibcuda.so.", "1 is a", "library"]);
        assert_eq!((wrap("", 4), wrap("abcd", 4)), (vec![String::new()], vec!["abcd".to_owned()]));
    }

    #[test]
    fn a_matrix_is_labelled_on_both_sides() {
        let text = matrix(2, |accessor, owner| if accessor == owner { '·' } else { '●' });
        assert_eq!(text, "     0 1\n  0  · ●\n  1  ● ·\n");
    }
}
