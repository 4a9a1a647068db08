//! Children of `fork`.

use warploom_cuda::REPORT_VARIABLE;

use crate::child::{Outcome, Program};

#[test]
fn a_child_that_cannot_use_the_machine_leaves_nothing_behind() -> Outcome {
    let ended = Program::named("forks after use", "after")?.with(REPORT_VARIABLE, "report-%p.json").run()?;
    assert!(ended.output.status.success(), "{}", ended.said());
    assert_eq!(ended.files()?.len(), 1, "the parent's: {:?}", ended.files()?);
    Ok(())
}

#[test]
fn a_child_with_a_machine_of_its_own_leaves_its_own_report() -> Outcome {
    let ended = Program::named("forks before use", "before")?.with(REPORT_VARIABLE, "report-%p.json").run()?;
    assert!(ended.output.status.success(), "{}", ended.said());
    let files = ended.files()?;
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        assert_eq!(file, format!("report-{}.json", ended.json(&file)?["process"]));
    }
    Ok(())
}
