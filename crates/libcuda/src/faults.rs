//! Fault plans from the environment.

use warploom_sim::fault::{FaultError, Plan};

/// The plan that a description means. What has an equals sign or a table's header in it is TOML, and
/// everything else is the path of a file.
pub(crate) fn plan(description: &str) -> Result<Plan, FaultError> {
    match description {
        text if text.contains('=') || text.contains("[[") => Plan::from_toml(text),
        path => Plan::from_toml_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_a_plan_or_the_path_of_one() -> Result<(), Box<dyn std::error::Error>> {
        let text = "fault = [{ call = \"cuInit\", nth = 1, code = \"NO_DEVICE\" }]";
        let path = std::env::temp_dir().join(format!("warploom-faults-{}.toml", std::process::id()));
        std::fs::write(&path, text)?;
        let (inline, from_file) = (plan(text), plan(&path.to_string_lossy()));
        std::fs::remove_file(&path)?;
        assert_eq!(inline, from_file);
        assert_eq!(inline?.rules().len(), 1);
        Ok(())
    }

    #[test]
    fn errors_in_a_description_name_the_key() {
        let wrong = plan("[[fault]]\ncode = \"OUT_OF_MEMRY\"\n").expect_err("no such code").to_string();
        assert!(wrong.contains("line 2, column 8: fault[0].code") && wrong.contains("OUT_OF_MEMORY"), "{wrong}");
        let absent = plan("absent.toml").expect_err("no such file").to_string();
        assert!(absent.contains("absent.toml"), "{absent}");
    }
}
