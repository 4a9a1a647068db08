//! Which machine the library is.

use std::path::Path;

use warploom_sim::topology::{Topology, TopologyError};
use warploom_sim::{Machine, StartError};

/// The environment variable that describes the machine.
pub const MACHINE_VARIABLE: &str = "WARPLOOM_MACHINE";

/// What the machine is when nobody says so.
const DEFAULT: &str = "h200";

/// Starts the machine that a description means; none, or an empty one, means the default.
pub(crate) fn start(description: Option<&str>) -> Result<Machine, StartError> {
    let description = description.filter(|description| !description.is_empty()).unwrap_or(DEFAULT);
    Machine::builder().topology(topology(description)?).start()
}

/// A path has a folder or ends in `.toml`; everything else is the name of a preset.
fn topology(description: &str) -> Result<Topology, TopologyError> {
    let path = Path::new(description);
    let is_path = path.components().nth(1).is_some() || path.extension().is_some_and(|extension| extension == "toml");
    if is_path { Topology::from_toml_file(path) } else { Topology::preset(description) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(description: Option<&str>) -> Result<usize, String> {
        let machine = start(description).map_err(|error| error.to_string())?;
        Ok(machine.topology().devices.len())
    }

    #[test]
    fn a_preset_is_meant_by_its_name() {
        assert_eq!(devices(Some("dgx-h100")), Ok(8));
    }

    #[test]
    fn without_a_description_it_is_one_device() {
        assert_eq!(devices(None), Ok(1));
        assert_eq!(devices(Some("")), Ok(1));
    }

    #[test]
    fn a_file_is_meant_by_its_path() -> Result<(), Box<dyn std::error::Error>> {
        let path = std::env::temp_dir().join(format!("warploom-{}.toml", std::process::id()));
        std::fs::write(&path, Topology::preset("pcie-pair")?.to_toml())?;
        let found = devices(path.to_str());
        std::fs::remove_file(&path)?;
        assert_eq!(found, Ok(2));
        Ok(())
    }

    #[test]
    fn a_description_of_nothing_is_an_error_that_says_so() {
        let unknown = devices(Some("dgx-h1000")).expect_err("there is no such preset");
        assert!(unknown.contains("dgx-h100"), "{unknown}");
        for path in ["absent.toml", "/absent/machine"] {
            let absent = devices(Some(path)).expect_err("there is no such file");
            assert!(absent.contains(path), "{absent}");
        }
    }
}
