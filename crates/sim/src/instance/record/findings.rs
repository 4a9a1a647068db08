//! Findings for a record: their text, and the places in the program that they are about.

use warploom_record::{Finding, Frame, Site};

use super::source::Sources;
use crate::check::{FindingKind, KernelFault, ThreadInfo};
use crate::memory::shadow::{Frame as Traced, Operation};

/// The findings with the source lines of their calls, as far as the files can be read.
pub(super) fn of(findings: Vec<crate::check::Finding>) -> Vec<Finding> {
    let mut sources = Sources::default();
    findings.into_iter().map(|finding| shown(&finding, &mut sources)).collect()
}

fn shown(finding: &crate::check::Finding, sources: &mut Sources) -> Finding {
    let text = finding.kind.to_string();
    let mut lines = text.lines().map(str::trim);
    let title = lines.next().unwrap_or_default().to_owned();
    let kind = title.split_once(": ").map_or("", |(kind, _)| kind).to_owned();
    let mut sites = thread_sites(&finding.kind, sources);
    let operations = finding.kind.operations().into_iter();
    sites.extend(operations.map(|(role, operation)| operation_site(role, operation, sources)));
    Finding { kind, title, details: lines.map(str::to_owned).collect(), call: finding.call, sites }
}

fn operation_site(role: &str, operation: &Operation, sources: &mut Sources) -> Site {
    let node = operation.node.as_ref().map(|node| &node.backtrace).filter(|frames| !frames.is_empty());
    let traced = node.unwrap_or(&operation.backtrace);
    let place = place_of(traced);
    Site {
        role: role.to_owned(),
        operation: operation.to_string(),
        call: operation.call,
        process: operation.process,
        frames: traced.iter().filter(|frame| frame.file.is_some()).map(frame).collect(),
        source: place.map(|(file, line)| sources.around(file, line)),
    }
}

fn frame(Traced { function, file, line }: &Traced) -> Frame {
    Frame { function: function.clone(), file: file.clone(), line: *line }
}

/// The innermost frame of the program's own code: not of the core, and not of the standard library.
fn place_of(frames: &[Traced]) -> Option<(&str, u32)> {
    let known = || frames.iter().filter_map(|frame| Some((frame, frame.file.as_deref()?, frame.line?)));
    // Inlined functions have no path in their names, but lie in the same folder as others of the core.
    let folders: Vec<&str> =
        known().filter(|(frame, ..)| is_of(frame, &["warploom::"])).filter_map(|(_, file, _)| folder(file)).collect();
    let is_own = |frame: &Traced, file: &str| {
        !is_of(frame, &["warploom::", "std::", "core::", "alloc::"])
            && !file.starts_with("/rustc/")
            && !folder(file).is_some_and(|folder| folders.contains(&folder))
    };
    let found = known().find(|(frame, file, _)| is_own(frame, file)).or_else(|| known().next());
    found.map(|(_, file, line)| (file, line))
}

fn is_of(frame: &Traced, crates: &[&str]) -> bool {
    let name = frame.function.trim_start_matches('<');
    crates.iter().any(|of| name.starts_with(of))
}

/// The folder of the package that a source file belongs to.
fn folder(file: &str) -> Option<&str> {
    file.rsplit_once("/src/").map(|(folder, _)| folder)
}

/// The threads of a kernel that a finding is about, at their instructions.
fn thread_sites(kind: &FindingKind, sources: &mut Sources) -> Vec<Site> {
    let threads: Vec<(&str, &ThreadInfo)> = match kind {
        FindingKind::KernelRace { race, .. } => vec![("first", &race.first), ("second", &race.second)],
        FindingKind::UninitialisedShared { read, .. } => vec![("reads", &read.reader)],
        FindingKind::UnfinishedCopy { copy, .. } => vec![("copies", &copy.copier), ("touches", &copy.other)],
        FindingKind::AbsentBlock { visit, .. } => vec![("accesses", &visit.visitor)],
        FindingKind::HeapMisuse { misuse, .. } => {
            let freed = misuse.freed_by.iter().map(|thread| ("freed", thread));
            std::iter::once(("uses", &misuse.thread)).chain(freed).collect()
        }
        FindingKind::BarrierDivergence { barrier, .. } => vec![("waits", &barrier.waits), ("other", &barrier.other)],
        FindingKind::KernelFault { fault, .. } => return vec![fault_site(fault, sources)],
        _ => Vec::new(),
    };
    let site = |(role, thread): (&str, &ThreadInfo)| {
        let operation = format!("{thread}: `{}`, line {} of the PTX", thread.instruction, thread.line);
        instruction_site(role, operation, thread.source.as_ref(), sources)
    };
    threads.into_iter().map(site).collect()
}

fn fault_site(fault: &KernelFault, sources: &mut Sources) -> Site {
    let KernelFault { kernel, block, thread, instruction, line, source, .. } = fault;
    let operation = format!("`{kernel}`, block {block:?}, thread {thread:?}: `{instruction}`, line {line} of the PTX");
    instruction_site("faults", operation, source.as_ref(), sources)
}

fn instruction_site(role: &str, operation: String, source: Option<&(String, u32)>, sources: &mut Sources) -> Site {
    let source = source.map(|(file, line)| sources.around(file, *line));
    Site { role: role.to_owned(), operation, source, ..Site::default() }
}
