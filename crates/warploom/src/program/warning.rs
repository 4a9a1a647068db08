//! Warnings before loading: PTX too new for the driver, or for another architecture.

use std::fmt;

use warploom_driver::DriverVersion;

use super::{Compiled, ObjectCode};
use crate::Driver;

/// A warning that a driver may refuse code. It may still work.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Warning {
    /// The compiler is newer than the driver, which does not read its PTX.
    NewerThanDriver {
        /// The code's name.
        name: String,
        /// The version of the PTX.
        ptx: (u32, u32),
        /// The oldest driver that reads it.
        needs: DriverVersion,
        /// The driver that there is.
        driver: DriverVersion,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Warning::NewerThanDriver { name, ptx: (major, minor), needs, driver } = self;
        write!(
            formatter,
            "{name} is PTX {major}.{minor}, which needs driver {needs}, and this is {driver}; compile or link it to a cubin, or \
             take a compiler that is as old as the driver"
        )
    }
}

impl Compiled {
    /// Warnings for loading it with this driver, found without a driver call. The compiler's own warnings are
    /// in the log.
    ///
    /// ```
    /// use warploom::Driver;
    /// use warploom::program::ObjectCode;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?; // 13.0
    /// // As of `compile`.
    /// let newer = ObjectCode::from_ptx("k", ".version 9.4\n.target sm_90\n.address_size 64\n")?;
    /// let warnings = newer.warnings(&driver);
    /// let text = warnings[0].to_string();
    /// assert!(text.starts_with("k is PTX 9.4, which needs driver 13.4, and this is 13.0"));
    /// assert!(newer.load(&driver)?.kernel("k").is_err());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn warnings(&self, driver: &Driver) -> Vec<Warning> {
        self.code.warnings(driver)
    }
}

impl ObjectCode {
    /// Warnings for loading it with this driver; see [`Compiled::warnings`].
    #[must_use]
    pub fn warnings(&self, driver: &Driver) -> Vec<Warning> {
        let Some(ptx) = self.ptx_version() else { return Vec::new() };
        let (needs, driver) = (oldest_driver(ptx), driver.version());
        let is_newer = (needs.major(), needs.minor()) > (driver.major(), driver.minor());
        let warning = || Warning::NewerThanDriver { name: self.name().to_owned(), ptx, needs, driver };
        is_newer.then(warning).into_iter().collect()
    }

    /// The version of the PTX that it is; `None` if it is not PTX.
    ///
    /// ```
    /// use warploom::program::ObjectCode;
    ///
    /// # fn main() -> warploom::Result<()> {
    /// let ptx = ObjectCode::from_ptx("k", "// a comment\n.version 8.7 // and another\n.target sm_90\n")?;
    /// assert_eq!(ptx.ptx_version(), Some((8, 7)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn ptx_version(&self) -> Option<(u32, u32)> {
        let mut lines = self.text()?.lines();
        let rest = lines.find_map(|line| line.trim_start().strip_prefix(".version"))?;
        let (major, minor) = rest.split_whitespace().next()?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }
}

/// The oldest driver that reads a version of PTX. From 9.0 on, which came with CUDA 13.0, each has had one of
/// its own.
fn oldest_driver((major, minor): (u32, u32)) -> DriverVersion {
    let (major, minor) = match (major, minor) {
        (..8, _) => (12, 0),
        (8, 0..=5) => (12, minor),
        (8, _) => (12, minor.saturating_add(1)),
        _ => (major.saturating_add(4), minor),
    };
    let number = major.saturating_mul(1000).saturating_add(minor.saturating_mul(10));
    DriverVersion::from_raw(i32::try_from(number).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::CodeKind;
    use super::*;

    /// As the tables of NVIDIA's documentation of PTX have it.
    #[test]
    fn each_version_of_ptx_has_its_driver() {
        for (ptx, driver) in [
            ((7, 8), 12_000),
            ((8, 0), 12_000),
            ((8, 4), 12_040),
            ((8, 5), 12_050),
            ((8, 6), 12_070),
            ((8, 7), 12_080),
            ((8, 8), 12_090),
            ((9, 0), 13_000),
            ((9, 1), 13_010),
        ] {
            assert_eq!(oldest_driver(ptx), DriverVersion::from_raw(driver), "{ptx:?}");
        }
        assert_eq!(oldest_driver((u32::MAX, u32::MAX)), DriverVersion::from_raw(i32::MAX));
    }

    #[test]
    fn code_other_than_ptx_has_no_version() {
        for text in ["", ".version", ".version 9", ".version 9.x", "version 9.0", ".version -1.0"] {
            assert_eq!(ObjectCode::made(CodeKind::Ptx, "", text).ptx_version(), None, "{text}");
        }
        assert_eq!(ObjectCode::made(CodeKind::Cubin, "", ".version 9.0").ptx_version(), None);
    }
}
