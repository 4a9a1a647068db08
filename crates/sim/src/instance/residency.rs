//! Residency of managed pages.

use super::machine::Machine;
use crate::memory::Residence;

impl Machine {
    /// The memories that hold a copy of the managed page at an address now: one, several for a page that is
    /// mostly read, none for a page that was not touched yet or was discarded. `None` if the address is not
    /// in managed memory.
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
        world.memory().containing(address).filter(|found| found.is_managed())?;
        Some(world.managed_memory().pages().at(address)?.resident.iter().copied().collect())
    }
}
