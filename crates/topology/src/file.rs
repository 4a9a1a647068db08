//! Machines written as TOML: reading with exact places for every mistake, and writing.
//!
//! The text is read key by key into a [`TopologyBuilder`], so that a value is refused where it stands (see
//! [`toml_text`](crate::text)). Only what concerns several devices at once is left to the builder's own
//! checks; such a problem is reported at the table its device came from.

mod device;
mod peer;
#[cfg(test)]
mod tests;
mod write;

pub(super) use self::write::write;

use std::path::Path;

use toml::de::DeTable;

use super::builder::TopologyBuilder;
use super::error::TopologyError;
use super::parse::version;
use super::{MAX_NUMA_NODES, Topology};
use crate::text::{Origin, Read, Section, Source, TomlProblem};

/// The machine in a file.
pub(super) fn read_file(path: &Path) -> Result<Topology, TopologyError> {
    let text = std::fs::read_to_string(path).map_err(|error| TopologyError::Read {
        path: path.to_owned(),
        kind: error.kind(),
        reason: error.to_string(),
    })?;
    read(&text, Some(path))
}

/// The machine in a text that came from a file, if it did.
pub(super) fn read(text: &str, file: Option<&Path>) -> Result<Topology, TopologyError> {
    let source = Source::new(text, file);
    let document = DeTable::parse(text).map_err(|error| source.syntax(&error))?;
    let root = Section::root(&source, document.get_ref());
    let (builder, origins) = machine(&root)?;
    builder.build().map_err(|problem| match ordinal(&problem).and_then(|ordinal| origins.get(ordinal)) {
        Some(origin) => source.error(origin.start, &origin.path, TomlProblem::Invalid(problem)).into(),
        None => source.error(0, "", TomlProblem::Invalid(problem)).into(),
    })
}

/// The device that a problem of the whole machine is best reported at.
fn ordinal(problem: &TopologyError) -> Option<usize> {
    match problem {
        TopologyError::Device { ordinal, .. } => Some(*ordinal),
        TopologyError::DuplicateUuid { second, .. } | TopologyError::DuplicatePci { second, .. } => Some(*second),
        _ => None,
    }
}

/// Everything in the document, with the origin of every device.
fn machine(root: &Section<'_>) -> Read<(TopologyBuilder, Vec<Origin>)> {
    root.allow(&["driver", "preset", "numa_nodes", "host_memory", "device", "peers", "peer"])?;
    let mut builder = Topology::builder();
    let mut origins = Vec::new();
    if let Some(item) = root.get("preset") {
        let preset = item.parsed(Topology::preset)?;
        origins.extend(preset.devices.iter().map(|_| item.origin()));
        builder = preset.into_builder();
    }
    if let Some(item) = root.get("driver") {
        // A bare 12.2 is a float, and would make 12.10 the same as 12.1.
        let text = item.as_text().ok_or_else(|| item.wrong_type("a version in quotes such as \"12.2\""))?;
        let version = version::parse(text).map_err(|error| item.invalid(error))?;
        builder = builder.driver_version(version / 1000, version % 1000 / 10);
    }
    if let Some(item) = root.get("numa_nodes") {
        builder = builder.numa_nodes(item.number("numa_nodes", 1..=MAX_NUMA_NODES)?);
    }
    if let Some(item) = root.get("host_memory") {
        builder = builder.host_memory(item.size("host_memory", 1..=u64::MAX)?);
    }
    for section in root.sections("device")? {
        builder = device::read(&section, builder, &mut origins)?;
    }
    if let Some(item) = root.get("peers") {
        builder = peer::read_all(&item.section()?, builder)?;
    }
    Ok((peer::read_each(&root.sections("peer")?, builder)?, origins))
}
