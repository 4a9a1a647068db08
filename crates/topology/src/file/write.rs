//! Writing a machine so that it reads back the same.

use std::collections::BTreeMap;

use super::super::attribute::Attribute;
use super::super::builder::pairs;
use super::super::device::DeviceSpec;
use super::super::link::PeerLink;
use super::super::quantity::{format_bandwidth, format_size};
use super::super::{Topology, version};

/// The whole text: what differs from the models and from the usual links, and nothing else.
pub(in super::super) fn write(topology: &Topology) -> String {
    let mut text =
        format!("driver = \"{}\"\nnuma_nodes = {}\n", version::format(topology.driver_version), topology.numa_nodes);
    if let Some(bytes) = topology.host_memory {
        line(&mut text, "host_memory", &format_size(bytes));
    }
    text.push_str("\n[peers]\n");
    let everywhere = commonest(topology);
    let default = everywhere.map_or_else(|| "\"none\"".to_owned(), |link| format!("{{ {} }}", link_keys(&link, ", ")));
    line(&mut text, "default", &default);
    line(&mut text, "max", &topology.peers.max_peers.to_string());
    for (ordinal, device) in topology.devices.iter().enumerate() {
        text.push_str("\n[[device]]\n");
        device_keys(&mut text, device, &device.model.spec(ordinal));
    }
    for (from, to) in pairs(topology.devices.len()) {
        let link = topology.peers.link(from, to).copied();
        if link == everywhere {
            continue;
        }
        let keys = link.map_or_else(|| "remove = true".to_owned(), |link| link_keys(&link, "\n"));
        text.push_str("\n[[peer]]\n");
        line(&mut text, "from", &from.to_string());
        line(&mut text, "to", &to.to_string());
        text.push_str(&keys);
        text.push('\n');
    }
    text
}

/// The link, or its absence, that most pairs have.
fn commonest(topology: &Topology) -> Option<PeerLink> {
    let mut counts: BTreeMap<Option<PeerLink>, usize> = BTreeMap::new();
    for (from, to) in pairs(topology.devices.len()) {
        let count = counts.entry(topology.peers.link(from, to).copied()).or_default();
        *count = count.saturating_add(1);
    }
    counts.into_iter().max_by_key(|(_, count)| *count).and_then(|(link, _)| link)
}

/// Every key of a device that its model does not already imply.
fn device_keys(text: &mut String, device: &DeviceSpec, model: &DeviceSpec) {
    line(text, "model", &quoted(device.model.name()));
    if device.name != model.name {
        line(text, "name", &quoted(&device.name));
    }
    let mut implied = model.clone();
    if device.total_memory != model.total_memory {
        line(text, "memory", &format_size(device.total_memory));
        implied.set_memory(device.total_memory);
    }
    if device.context_memory != implied.context_memory {
        line(text, "context_memory", &format_size(device.context_memory));
    }
    if device.memory_bandwidth != model.memory_bandwidth {
        line(text, "memory_bandwidth", &format_bandwidth(device.memory_bandwidth));
    }
    if device.uuid != model.uuid {
        line(text, "uuid", &quoted(&device.uuid_text()));
    }
    line(text, "pci", &quoted(&device.pci.to_string()));
    line(text, "numa_node", &device.numa_node.to_string());
    if device.host_link != model.host_link {
        let link = device.host_link;
        let bandwidth = format_bandwidth(link.bandwidth);
        let keys = format!("kind = \"{}\", bandwidth = {bandwidth}, latency_ns = {}", link.kind, link.latency_ns);
        line(text, "host_link", &format!("{{ {keys} }}"));
    }
    let changed: Vec<_> =
        device.attributes.iter().filter(|(number, value)| model.attributes.get(*number) != Some(*value)).collect();
    if !changed.is_empty() {
        text.push_str("[device.attributes]\n");
    }
    for (number, value) in changed {
        if let Some(attribute) = Attribute::by_number(number) {
            line(text, attribute.name, &value.to_string());
        }
    }
}

/// Every key of a link that its kind does not already imply.
fn link_keys(link: &PeerLink, separator: &str) -> String {
    let usual = PeerLink::of(link.kind);
    let mut keys = vec![format!("kind = \"{}\"", link.kind)];
    if link.bandwidth != usual.bandwidth {
        keys.push(format!("bandwidth = {}", format_bandwidth(link.bandwidth)));
    }
    if link.latency_ns != usual.latency_ns {
        keys.push(format!("latency_ns = {}", link.latency_ns));
    }
    if link.atomics != usual.atomics {
        keys.push(format!("atomics = \"{}\"", link.atomics.name()));
    }
    if link.performance_rank != usual.performance_rank {
        keys.push(format!("performance_rank = {}", link.performance_rank));
    }
    if link.array_access != usual.array_access {
        keys.push(format!("array_access = {}", link.array_access));
    }
    keys.join(separator)
}

fn line(text: &mut String, key: &str, value: &str) {
    text.extend([key, " = ", value, "\n"]);
}

/// A basic string, with everything escaped that TOML does not allow in one.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            _ if letter.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(letter))),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
