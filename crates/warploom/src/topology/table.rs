//! A topology as a table.

use std::fmt;

use super::{PeerAtomics, Topology};

impl Topology {
    /// A square of cells, accessors down, owners across.
    fn square(
        &self,
        formatter: &mut fmt::Formatter<'_>,
        title: &str,
        cell: impl Fn(usize, usize) -> String,
    ) -> fmt::Result {
        let size = self.devices().len();
        let cells: Vec<String> = (0..size * size).map(|at| cell(at / size, at % size)).collect();
        let names: Vec<String> = self.devices().iter().map(|device| device.ordinal().to_string()).collect();
        let width = names.iter().chain(&cells).map(|text| text.chars().count()).max().unwrap_or(0);
        writeln!(formatter, "{title}")?;
        write!(formatter, "{:width$}", "")?;
        names.iter().try_for_each(|name| write!(formatter, "  {name:>width$}"))?;
        for (accessor, name) in names.iter().enumerate() {
            write!(formatter, "\n{name:>width$}")?;
            let row = &cells[accessor * size..(accessor + 1) * size];
            row.iter().try_for_each(|cell| write!(formatter, "  {cell:>width$}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Topology {
    /// A table of peer capabilities, and one of the links once these are known.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.devices().is_empty() {
            return formatter.write_str("no devices");
        }
        self.square(formatter, "can access (down: who, across: whose memory)", |accessor, owner| {
            let text = match &self.cell(accessor, owner).can_access {
                _ if accessor == owner => "-",
                Ok(true) => "yes",
                Ok(false) => "no",
                Err(_) => "?",
            };
            text.to_owned()
        })?;
        for (pair, error) in self.failures() {
            write!(formatter, "\n? {} to {}: {error}", pair.accessor.ordinal(), pair.owner.ordinal())?;
        }
        if self.pairs().all(|pair| pair.link.is_none()) {
            return Ok(());
        }
        formatter.write_str("\n\n")?;
        let title = "links (number: performance rank, 0 is best; a: all atomics, p: some)";
        self.square(formatter, title, |accessor, owner| match self.cell(accessor, owner).link.get() {
            _ if accessor == owner => "-".to_owned(),
            None => "?".to_owned(),
            Some(link) if !link.access => "no".to_owned(),
            Some(link) => {
                let atomics = match link.atomics {
                    PeerAtomics::Native => "a",
                    PeerAtomics::Partial => "p",
                    PeerAtomics::None => "",
                };
                format!("{}{atomics}", link.performance_rank)
            }
        })
    }
}
