//! Constants of a program: the numbers of its text and the addresses of its variables, as rows that all warps
//! share.

use super::window::Window;
use crate::lanes::Row;

/// Numbers of the text, as rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constants {
    pub(crate) words: Vec<Row<u32>>,
    pub(crate) longs: Vec<Row<u64>>,
    /// Address ranges of variables of the constant space: the first address, and the one after the last.
    pub(crate) ranges: Vec<(u64, u64)>,
}

impl Constants {
    /// The window that an address is seen through.
    pub(crate) fn window(&self, address: u64) -> Window {
        let constant = || self.ranges.iter().any(|(start, end)| (*start..*end).contains(&address));
        match Window::of(address).0 {
            Window::Global if constant() => Window::Constant,
            window => window,
        }
    }
}
