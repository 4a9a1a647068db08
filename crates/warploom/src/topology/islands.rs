//! Islands: groups of devices with access to each other.

use super::Topology;
use crate::Device;

impl Topology {
    /// Groups of devices that are joined by access in any direction; every device is in exactly one, if only
    /// by itself.
    ///
    /// Members are ascending, and groups are in the order of their first members. Two members need not reach
    /// *each other*: they may be joined by way of a third, or in one direction only. [`Topology::can_access`]
    /// tells.
    ///
    /// ```
    /// use warploom::{Driver, Topology};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-t4")?)?;
    /// assert_eq!(Topology::probe(&driver.devices()?)?.islands().len(), 4); // no link at all
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn islands(&self) -> Vec<Vec<Device>> {
        self.groups(|one, other| self.reaches(one, other) || self.reaches(other, one))
    }

    /// As [`Topology::islands`], joined only by access in both directions. That two members reach each other
    /// directly does not follow here, either.
    #[must_use]
    pub fn mutual_islands(&self) -> Vec<Vec<Device>> {
        self.groups(|one, other| self.reaches(one, other) && self.reaches(other, one))
    }

    fn groups(&self, is_joined: impl Fn(usize, usize) -> bool) -> Vec<Vec<Device>> {
        let mut left: Vec<usize> = (0..self.devices().len()).collect();
        let mut groups = Vec::new();
        while let [first, others @ ..] = &*left {
            let mut members = vec![*first];
            left = others.to_vec();
            let mut seen = 0;
            while let Some(member) = members.get(seen).copied() {
                let (joined, others): (Vec<_>, Vec<_>) = left.iter().partition(|other| is_joined(member, **other));
                members.extend(joined);
                left = others;
                seen += 1;
            }
            members.sort_unstable();
            groups.push(members.into_iter().map(|member| self.devices()[member].clone()).collect());
        }
        groups
    }
}
