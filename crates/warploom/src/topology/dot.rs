//! A topology as a graph for Graphviz.

use std::fmt::Write as _;

use super::Topology;

impl Topology {
    /// The topology as a graph in the DOT language: one edge for access in both directions, an arrow for
    /// access in one, dotted where the driver could not say.
    ///
    /// An arrow leads from the accessor to the owner of the memory. Where the link is known, its performance
    /// rank is written on it.
    ///
    /// ```
    /// use warploom::{Driver, Topology};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
    /// let text = Topology::probe(&driver.devices()?)?.to_dot();
    /// assert!(text.contains("0 -> 1 [dir=both]"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut text = "digraph topology {\n  layout=circo;\n  node [shape=box, style=rounded];\n".to_owned();
        for device in self.devices() {
            let ordinal = device.ordinal();
            line(&mut text, format_args!("{ordinal} [label=\"device {ordinal}\"]"));
        }
        for pair in self.pairs() {
            let (from, to) = (pair.accessor.ordinal(), pair.owner.ordinal());
            let is_mutual = self.can_access(to, from) == Ok(true);
            let style = match pair.can_access {
                Ok(true) if is_mutual && from > to => continue,
                Ok(true) if is_mutual => "dir=both",
                Ok(true) => "dir=forward",
                Ok(false) => continue,
                Err(_) => "dir=forward, style=dotted",
            };
            match pair.link {
                Some(link) => {
                    line(&mut text, format_args!("{from} -> {to} [{style}, label=\"{}\"]", link.performance_rank));
                }
                None => line(&mut text, format_args!("{from} -> {to} [{style}]")),
            }
        }
        text + "}\n"
    }
}

fn line(text: &mut String, statement: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "  {statement};");
}
