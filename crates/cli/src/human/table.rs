//! Columns that line up.

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

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.sides.len()).map(|column| self.width(column)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::from(" ");
            for ((cell, width), side) in row.iter().zip(&widths).zip(&self.sides) {
                line += &match side {
                    Side::Left => format!(" {cell:<width$} "),
                    Side::Right => format!(" {cell:>width$} "),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
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
        assert_eq!(table.render(), "   #  name    memory\n   0  größer  80 GiB\n  10  x          1 B\n");
    }

    #[test]
    fn a_matrix_is_labelled_on_both_sides() {
        let text = matrix(2, |accessor, owner| if accessor == owner { '·' } else { '●' });
        assert_eq!(text, "     0 1\n  0  · ●\n  1  ● ·\n");
    }
}
