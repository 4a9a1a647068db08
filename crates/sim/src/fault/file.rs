//! Plans as TOML.

use std::path::Path;
use std::time::Duration;

use toml::de::DeTable;
use warploom_sys::types::CUresult;

use super::budget::Budget;
use super::calls::Calls;
use super::error::{FaultError, MAX_DELAY};
use super::plan::Plan;
use super::rule::{Action, DEVICE_LOST, Rule};
use crate::rules::Class;
use crate::topology::text::{Item, Read, Refusal, Section, Source, TomlError, TomlProblem};
use crate::topology::{MAX_DEVICES, nearest, parse_version};

#[cfg(test)]
mod tests;

impl Plan {
    /// The plan that a TOML text describes.
    ///
    #[doc = include_str!("format.md")]
    #[doc = concat!("```toml\n", include_str!("example.toml"), "```")]
    ///
    /// # Errors
    ///
    /// [`FaultError::Toml`] with line, column and key.
    pub fn from_toml(text: &str) -> Result<Plan, FaultError> {
        read(text, None)
    }

    /// The plan that a TOML file describes; mistakes are reported with the file's name.
    ///
    /// # Errors
    ///
    /// As [`Plan::from_toml`], and [`FaultError::Read`].
    pub fn from_toml_file(path: impl AsRef<Path>) -> Result<Plan, FaultError> {
        read_file(path.as_ref())
    }
}

/// The plan in a file.
fn read_file(path: &Path) -> Result<Plan, FaultError> {
    let text = std::fs::read_to_string(path).map_err(|error| FaultError::Read {
        path: path.to_owned(),
        kind: error.kind(),
        reason: error.to_string(),
    })?;
    read(&text, Some(path))
}

/// The plan in a text that came from a file, if it did.
fn read(text: &str, file: Option<&Path>) -> Result<Plan, FaultError> {
    let source = Source::new(text, file);
    let document = DeTable::parse(text).map_err(|error| source.syntax(&error))?;
    Ok(plan(&Section::root(&source, document.get_ref()))?)
}

fn plan(root: &Section<'_>) -> Read<Plan> {
    root.allow(&["driver", "hide", "budget", "fault"])?;
    let mut plan = Plan::new();
    if let Some(item) = root.get("driver") {
        let text = item.as_text().ok_or_else(|| item.wrong_type("a version in quotes such as \"12.2\""))?;
        plan = plan.driver_version(parse_version(text).map_err(|error| item.invalid(error))?);
    }
    if let Some(item) = root.get("hide") {
        for name in item.elements("an array of function names")? {
            plan = plan.hide(named(&name)?);
        }
    }
    for section in root.sections("budget")? {
        plan = plan.budget(budget(&section)?);
    }
    for section in root.sections("fault")? {
        plan = plan.rule(rule(&section)?);
    }
    Ok(plan)
}

fn budget(section: &Section<'_>) -> Read<Budget> {
    section.allow(&["device", "host", "bytes"])?;
    let bytes = section.require("bytes", "a size such as \"1 GiB\"")?.size("bytes", 0..=u64::MAX)?;
    match (section.get("device"), section.get("host")) {
        (Some(_), Some(host)) => Err(conflict(&host, "device", "a budget is of one of them")),
        (Some(device), None) => Ok(Budget::Device { device: ordinal(&device)?, bytes }),
        (None, Some(host)) if host.boolean()? => Ok(Budget::Host { bytes }),
        (None, _) => Ok(Budget::All { bytes }),
    }
}

fn rule(section: &Section<'_>) -> Read<Rule> {
    const KEYS: &[&str] = &[
        "call", "class", "thread", "device", "context", "nth", "from", "every", "times", "code", "when", "poison",
        "delay", "lose",
    ];
    section.allow(KEYS)?;
    let mut rule = match (section.get("call"), section.get("class")) {
        (Some(_), Some(class)) => return Err(conflict(&class, "call", "a rule is about one of them")),
        (Some(call), None) => Rule::on(named(&call)?),
        (None, Some(class)) => Rule::on(Class::by_name(class.text()?).map_err(|error| fault(&class, error))?),
        (None, None) => Rule::on(Calls::all()),
    };
    if let Some(item) = section.get("thread") {
        rule = rule.on_thread_named(item.text()?);
    }
    if let Some(item) = section.get("device") {
        rule = rule.on_device(ordinal(&item)?);
    }
    if let Some(item) = section.get("context") {
        rule = rule.on_context_id(count(&item, "context")?);
    }
    rule = which(section, rule)?;
    Ok(rule.act(action(section)?))
}

/// Reads the selection of the matches that a rule acts on.
fn which(section: &Section<'_>, mut rule: Rule) -> Read<Rule> {
    if let Some(item) = section.get("nth") {
        for other in ["from", "every", "times"] {
            if let Some(second) = section.get(other) {
                return Err(conflict(&second, "nth", "that is one match alone"));
            }
        }
        rule = rule.nth(count(&item, "nth")?);
    }
    if let Some(item) = section.get("from") {
        rule = rule.from(count(&item, "from")?);
    }
    if let Some(item) = section.get("every") {
        rule = rule.every(count(&item, "every")?);
    }
    if let Some(item) = section.get("times") {
        rule = rule.times(count(&item, "times")?);
    }
    Ok(rule)
}

/// The one thing that happens.
fn action(section: &Section<'_>) -> Read<Action> {
    let given: Vec<_> =
        ["poison", "delay", "lose"].into_iter().filter_map(|key| Some((key, section.get(key)?))).collect();
    if let [(first, _), (_, second), ..] = given.as_slice() {
        return Err(conflict(second, first, "a rule does one thing; write another [[fault]]"));
    }
    let (code, when) = (section.get("code"), section.get("when"));
    if let (Some(when), Some((key, _))) = (&when, given.first()) {
        return Err(conflict(when, key, "it says when a code is answered"));
    }
    match (given.into_iter().next(), code) {
        (Some((key @ ("poison" | "delay"), _)), Some(code)) => {
            Err(conflict(&code, key, "a rule does one thing; write another [[fault]]"))
        }
        (Some(("poison", item)), None) => Ok(Action::Poison { code: status(&item)? }),
        (Some(("delay", item)), None) => Ok(Action::Delay(duration(&item)?)),
        (Some((_, item)), code) => {
            let code = code.map_or(Ok(DEVICE_LOST), |code| status(&code))?;
            Ok(Action::LoseDevice { device: ordinal(&item)?, code })
        }
        (None, Some(code)) => answer(status(&code)?, when),
        (None, None) => {
            Err(section.problem(TomlProblem::Missing { key: "code", expected: "a code, or poison, delay or lose" }))
        }
    }
}

fn answer(code: CUresult, when: Option<Item<'_>>) -> Read<Action> {
    const TIMES: [&str; 3] = ["before", "after", "later"];
    let Some(when) = when else { return Ok(Action::Fail { code }) };
    match when.text()? {
        "before" => Ok(Action::Fail { code }),
        "after" => Ok(Action::FailAfter { code }),
        "later" => Ok(Action::FailWork { code }),
        other => Err(when.unknown_name("time", other, &TIMES)),
    }
}

fn fault(item: &Item<'_>, error: FaultError) -> Box<TomlError> {
    item.problem(TomlProblem::Refused(Refusal::new(error)))
}

fn conflict(item: &Item<'_>, other: &'static str, reason: &'static str) -> Box<TomlError> {
    item.problem(TomlProblem::Conflict { other, reason })
}

fn named(item: &Item<'_>) -> Read<Calls> {
    Calls::named(item.text()?).map_err(|error| fault(item, error))
}

fn ordinal(item: &Item<'_>) -> Read<u32> {
    item.number("device", 0..=u32::try_from(MAX_DEVICES - 1).unwrap_or(u32::MAX))
}

/// A count of matches, from 1 on.
fn count(item: &Item<'_>, what: &'static str) -> Read<u64> {
    item.number(what, 1..=u64::MAX)
}

const PREFIX: &str = "CUDA_ERROR_";

/// A code by its name, with the common prefix or without it, or by its number.
fn status(item: &Item<'_>) -> Read<CUresult> {
    let Some(name) = item.as_text() else {
        return Ok(CUresult(item.number("code", 1..=u32::from(u16::MAX))?));
    };
    let is_it = |known: &str| known == name || known.strip_prefix(PREFIX) == Some(name);
    match CUresult::ALL.iter().copied().find(|code| code.name().is_some_and(is_it)) {
        Some(CUresult::CUDA_SUCCESS) => Err(fault(item, FaultError::Success)),
        Some(code) => Ok(code),
        None => {
            let known = CUresult::ALL.iter().filter_map(|code| code.name());
            let short = |known: &'static str| known.strip_prefix(PREFIX).unwrap_or(known);
            let nearest = match name.starts_with(PREFIX) {
                true => nearest(name, known),
                false => nearest(name, known.map(short)),
            };
            Err(fault(item, FaultError::UnknownCode { name: name.to_owned(), nearest }))
        }
    }
}

/// A time with its unit.
fn duration(item: &Item<'_>) -> Read<Duration> {
    const EXPECTED: &str = "a time such as \"5 ms\"";
    const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let text = item.as_text().ok_or_else(|| item.wrong_type(EXPECTED))?;
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = UNITS.iter().find(|(name, _)| *name == unit.trim());
    let nanoseconds = unit.and_then(|(_, unit)| number.parse::<u64>().ok()?.checked_mul(*unit));
    let Some(nanoseconds) = nanoseconds else {
        return Err(item.malformed(
            "delay",
            text,
            "expected a whole number and one of ns, us, ms, s, such as \"5 ms\"",
        ));
    };
    let time = Duration::from_nanos(nanoseconds);
    if time > MAX_DELAY {
        return Err(fault(item, FaultError::Delay { seconds: time.as_secs() }));
    }
    Ok(time)
}
