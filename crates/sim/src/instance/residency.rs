//! Residency of managed pages, for tests and tools.

use super::Machine;
use crate::memory::Residence;

impl Machine {
    /// Where there is a copy of the managed page at an address, now: one place, several for a page that is mostly read, none
    /// for a page that nobody has touched or that was discarded. Nothing if no managed memory is there.
    ///
    /// ```
    /// # use warploom_sim::Machine;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let machine = Machine::preset("h200")?;
    /// assert_eq!(machine.residency(0x1000), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn residency(&self, address: u64) -> Option<Vec<Residence>> {
        let world = self.here()?.world();
        world.memory.containing(address).filter(|found| found.is_managed())?;
        Some(world.managed_memory.pages().at(address)?.resident.iter().copied().collect())
    }
}
