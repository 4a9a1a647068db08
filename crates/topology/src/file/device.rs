//! Reading `[[device]]`.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::MAX_DEVICES;
use super::super::attribute::Attribute;
use super::super::builder::TopologyBuilder;
use super::super::device::{DeviceSpec, MAX_MEMORY, check_context_memory, check_name};
use super::super::error::TopologyError;
use super::super::link::{LinkKind, PeerLink};
use super::super::parse::uuid;
use crate::text::{Item, Origin, Read, Section, TomlProblem};

/// Adds the devices that the table describes, or changes those that it names.
pub(super) fn read(
    section: &Section<'_>,
    mut builder: TopologyBuilder,
    origins: &mut Vec<Origin>,
) -> Read<TopologyBuilder> {
    section.allow(&[
        "model",
        "ordinal",
        "count",
        "name",
        "memory",
        "context_memory",
        "memory_bandwidth",
        "uuid",
        "pci",
        "numa_node",
        "host_link",
        "attributes",
    ])?;
    let targets = match section.get("ordinal") {
        Some(item) => existing(section, &item, builder.specs().len())?,
        None => {
            let added;
            (builder, added) = add(section, builder)?;
            added
        }
    };
    for ordinal in targets.clone() {
        match origins.get_mut(ordinal) {
            Some(origin) => *origin = section.origin(),
            None => origins.push(section.origin()),
        }
    }
    let nodes = builder.host_nodes();
    change(section, nodes, builder.specs_mut().get_mut(targets).unwrap_or_default())?;
    Ok(builder)
}

/// The devices that `ordinal` names.
fn existing(section: &Section<'_>, ordinal: &Item<'_>, count: usize) -> Read<Range<usize>> {
    let reason = "\"model\" adds devices, \"ordinal\" changes one that is there";
    for key in ["model", "count"] {
        if let Some(item) = section.get(key) {
            return Err(item.problem(TomlProblem::Conflict { other: "ordinal", reason }));
        }
    }
    match ordinal.as_text() {
        Some("all") => Ok(0..count),
        Some(_) => Err(ordinal.wrong_type("an ordinal or \"all\"")),
        None => {
            let index = super::peer::ordinal(ordinal, count)?;
            Ok(index..index.saturating_add(1))
        }
    }
}

/// Adds as many devices as the table asks for.
fn add(section: &Section<'_>, builder: TopologyBuilder) -> Read<(TopologyBuilder, Range<usize>)> {
    let model = section.require("model", "the name of a device model, or \"ordinal\" to change a device")?;
    let model = model.parsed(str::parse)?;
    let first = builder.specs().len();
    let mut count = 1;
    if let Some(item) = section.get("count") {
        let most = u32::try_from(MAX_DEVICES).unwrap_or(u32::MAX);
        count = usize::try_from(item.number("count", 1..=most)?).unwrap_or(usize::MAX);
    }
    let total = first.saturating_add(count);
    if total > MAX_DEVICES {
        let problem = TopologyError::TooManyDevices { count: total, limit: MAX_DEVICES };
        return Err(section.problem(TomlProblem::Invalid(problem)));
    }
    Ok((builder.devices(count, model), first..total))
}

/// Applies every other key to all the devices.
fn change(section: &Section<'_>, numa_nodes: u32, devices: &mut [DeviceSpec]) -> Read<()> {
    if let Some(item) = section.get("name") {
        let name = item.text()?;
        check_name(name).map_err(|error| item.invalid(error))?;
        devices.iter_mut().for_each(|device| name.clone_into(&mut device.name));
    }
    if let Some(item) = section.get("uuid") {
        let uuid = item.parsed(uuid::parse)?;
        only(&item, devices)?.iter_mut().for_each(|device| device.uuid = uuid);
    }
    if let Some(item) = section.get("pci") {
        let pci = item.parsed(str::parse)?;
        only(&item, devices)?.iter_mut().for_each(|device| device.pci = pci);
    }
    if let Some(item) = section.get("memory") {
        let memory = item.size("memory", 1..=MAX_MEMORY)?;
        devices.iter_mut().for_each(|device| device.set_memory(memory));
    }
    if let Some(item) = section.get("context_memory") {
        let memory = item.size("context_memory", 0..=MAX_MEMORY)?;
        for device in &mut *devices {
            check_context_memory(memory, device.total_memory).map_err(|error| item.invalid(error))?;
            device.context_memory = memory;
        }
    }
    if let Some(item) = section.get("memory_bandwidth") {
        let bandwidth = item.bandwidth("memory_bandwidth")?;
        devices.iter_mut().for_each(|device| device.memory_bandwidth = bandwidth);
    }
    if let Some(item) = section.get("numa_node") {
        let node = item.number("numa_node", 0..=numa_nodes.saturating_sub(1))?;
        devices.iter_mut().for_each(|device| device.numa_node = node);
    }
    if let Some(item) = section.get("host_link") {
        host_link(&item.section()?, devices)?;
    }
    if let Some(item) = section.get("attributes") {
        attributes(&item.section()?, devices)?;
    }
    Ok(())
}

/// The one device of the table, for what two devices cannot share.
fn only<'a>(item: &Item<'_>, devices: &'a mut [DeviceSpec]) -> Read<&'a mut [DeviceSpec]> {
    match devices.len() {
        0 | 1 => Ok(devices),
        devices => Err(item.problem(TomlProblem::Shared { devices })),
    }
}

/// Changes parts of the link to the host.
fn host_link(section: &Section<'_>, devices: &mut [DeviceSpec]) -> Read<()> {
    section.allow(&["kind", "bandwidth", "latency_ns"])?;
    if let Some(item) = section.get("kind") {
        let kind = item.parsed(LinkKind::by_name)?;
        devices.iter_mut().for_each(|device| device.host_link.kind = kind);
    }
    if let Some(item) = section.get("bandwidth") {
        let bandwidth = item.bandwidth("bandwidth")?;
        devices.iter_mut().for_each(|device| device.host_link.bandwidth = bandwidth);
    }
    if let Some(item) = section.get("latency_ns") {
        let latency = item.number("latency_ns", 0..=PeerLink::MAX_LATENCY_NS)?;
        devices.iter_mut().for_each(|device| device.host_link.latency_ns = latency);
    }
    Ok(())
}

/// Changes attributes by name.
fn attributes(section: &Section<'_>, devices: &mut [DeviceSpec]) -> Read<()> {
    let mut lines = BTreeMap::new();
    for (key, start, item) in section.entries() {
        let attribute = Attribute::by_name(key)
            .ok_or_else(|| section.unknown_key(key, start, Attribute::nearest_name(key), &[]))?;
        // Two names of one attribute are two keys to the parser.
        if let Some(first_line) = lines.insert(attribute.number, item.line()) {
            return Err(item.problem(TomlProblem::Duplicate { first_line }));
        }
        let value = match item.as_boolean() {
            Some(value) => value.into(),
            None => item.number(attribute.name, i32::MIN..=i32::MAX)?,
        };
        for device in &mut *devices {
            device.attributes.set(attribute.number, value).map_err(|error| item.invalid(error))?;
        }
    }
    Ok(())
}
