//! Reading `[peers]` and `[[peer]]`.

use std::collections::BTreeMap;

use super::super::builder::TopologyBuilder;
use super::super::error::TopologyError;
use super::super::link::{Atomics, LinkKind, PeerLink};
use super::super::{MAX_DEVICES, check_pair};
use crate::text::{Item, Read, Section, TomlProblem};

/// The keys that describe a link, other than its kind.
const DETAILS: [&str; 5] = ["bandwidth", "latency_ns", "atomics", "performance_rank", "array_access"];

/// Settings for all pairs.
pub(super) fn read_all(section: &Section<'_>, mut builder: TopologyBuilder) -> Read<TopologyBuilder> {
    section.allow(&["default", "max"])?;
    let most = u32::try_from(MAX_DEVICES).unwrap_or(u32::MAX);
    if let Some(item) = section.get("default") {
        builder = match everywhere(item)? {
            // A switch is what lifts the limit on real machines.
            Some(link) if link.kind == LinkKind::NvSwitch => builder.all_peers(link).max_peers(most),
            Some(link) => builder.all_peers(link),
            None => builder.no_peers(),
        };
    }
    if let Some(item) = section.get("max") {
        builder = builder.max_peers(item.number("max", 0..=most)?);
    }
    Ok(builder)
}

/// The link between all devices: a kind, a table, or `"none"`.
fn everywhere(item: Item<'_>) -> Read<Option<PeerLink>> {
    if item.as_text() == Some("none") {
        return Ok(None);
    }
    if item.as_text().is_some() {
        return item.parsed(LinkKind::by_name).map(|kind| Some(PeerLink::of(kind)));
    }
    if !item.is_table() {
        return Err(item.wrong_type("a kind of link, \"none\", or a table that describes a link"));
    }
    let section = item.section()?;
    section.allow(&["kind", "bandwidth", "latency_ns", "atomics", "performance_rank", "array_access"])?;
    let kind = section.require("kind", "a kind of link such as \"nvlink\"")?.parsed(LinkKind::by_name)?;
    detailed(&section, PeerLink::of(kind)).map(Some)
}

/// Settings for single pairs.
pub(super) fn read_each(sections: &[Section<'_>], mut builder: TopologyBuilder) -> Read<TopologyBuilder> {
    let mut lines = BTreeMap::new();
    for section in sections {
        section.allow(&[
            "from",
            "to",
            "both",
            "remove",
            "kind",
            "bandwidth",
            "latency_ns",
            "atomics",
            "performance_rank",
            "array_access",
        ])?;
        for (from, to) in directions(section, builder.specs().len())? {
            if let Some(first_line) = lines.insert((from, to), section.line()) {
                return Err(section.problem(TomlProblem::Duplicate { first_line }));
            }
            builder = read_one(section, builder, from, to)?;
        }
    }
    Ok(builder)
}

/// The ordered pairs that a table speaks of.
fn directions(section: &Section<'_>, count: usize) -> Read<Vec<(usize, usize)>> {
    let from = ordinal(&section.require("from", "the ordinal of the device that reaches over the link")?, count)?;
    let to_item = section.require("to", "the ordinal of the device whose memory is reached")?;
    let to = ordinal(&to_item, count)?;
    check_pair(from, to, count).map_err(|error| to_item.invalid(error))?;
    let both = section.get("both").map_or(Ok(false), |item| item.boolean())?;
    Ok(if both { vec![(from, to), (to, from)] } else { vec![(from, to)] })
}

/// Puts the link in place, changes it, or takes it away.
fn read_one(section: &Section<'_>, builder: TopologyBuilder, from: usize, to: usize) -> Read<TopologyBuilder> {
    let present = builder.link(from, to);
    if section.get("remove").map_or(Ok(false), |item| item.boolean())? {
        let detail = ["kind"].into_iter().chain(DETAILS).find_map(|key| section.get(key));
        if let Some(item) = detail {
            let reason = "a link that is taken away has no properties";
            return Err(item.problem(TomlProblem::Conflict { other: "remove", reason }));
        }
        return match present {
            Some(_) => Ok(builder.no_peer(from, to)),
            None => Err(section.problem(TomlProblem::NoLink { from, to })),
        };
    }
    let base = match (section.get("kind"), present) {
        (Some(item), _) => PeerLink::of(item.parsed(LinkKind::by_name)?),
        (None, Some(link)) => link,
        (None, None) => {
            let expected = "a kind of link such as \"nvlink\", because there is no link yet to change";
            return Err(section.problem(TomlProblem::Missing { key: "kind", expected }));
        }
    };
    Ok(builder.peer(from, to, detailed(section, base)?))
}

/// A link with the properties that a table gives.
fn detailed(section: &Section<'_>, mut link: PeerLink) -> Read<PeerLink> {
    if let Some(item) = section.get("bandwidth") {
        link.bandwidth = item.bandwidth("bandwidth")?;
    }
    if let Some(item) = section.get("latency_ns") {
        link.latency_ns = item.number("latency_ns", 0..=PeerLink::MAX_LATENCY_NS)?;
    }
    if let Some(item) = section.get("atomics") {
        link.atomics = item.parsed(Atomics::by_name)?;
    }
    if let Some(item) = section.get("performance_rank") {
        link.performance_rank = item.number("performance_rank", 0..=PeerLink::MAX_RANK)?;
    }
    if let Some(item) = section.get("array_access") {
        link.array_access = item.boolean()?;
    }
    Ok(link)
}

/// The ordinal of a device that is there.
pub(super) fn ordinal(item: &Item<'_>, count: usize) -> Read<usize> {
    let index: u64 = item.number("ordinal", 0..=u64::MAX)?;
    let ordinal = usize::try_from(index).unwrap_or(usize::MAX);
    if ordinal < count { Ok(ordinal) } else { Err(item.invalid(TopologyError::NoSuchDevice { ordinal, count })) }
}
