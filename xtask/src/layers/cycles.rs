//! Cycles among the modules of a folder.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::arrows::{Arrow, Target};
use super::source::ModulePath;

/// The arrows between the modules of one folder. A module stands for its whole subtree; the folder's own file
/// is none of them.
#[derive(Debug, Default)]
pub(crate) struct Siblings<'a> {
    pub(crate) edges: BTreeMap<(String, String), Vec<&'a Arrow>>,
}

/// Sorts arrows by the folder in which their ends are siblings.
pub(crate) fn folders(arrows: &[Arrow]) -> BTreeMap<ModulePath, Siblings<'_>> {
    let mut folders: BTreeMap<ModulePath, Siblings<'_>> = BTreeMap::new();
    for arrow in arrows {
        let Target::Module(to) = &arrow.to else { continue };
        let shared = arrow.from.iter().zip(to).take_while(|(from, to)| from == to).count();
        if let (Some(from), Some(to)) = (arrow.from.get(shared), to.get(shared)) {
            let folder = folders.entry(arrow.from[..shared].to_vec()).or_default();
            folder.edges.entry((from.clone(), to.clone())).or_default().push(arrow);
        }
    }
    folders
}

impl<'a> Siblings<'a> {
    /// Groups of modules that reach each other, in the order of their names.
    pub(crate) fn knots(&self) -> Vec<BTreeSet<String>> {
        let nodes: BTreeSet<&str> = self.edges.keys().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect();
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            nodes.iter().map(|node| (*node, self.reached_from(node))).collect();
        let mut knots = BTreeSet::new();
        for node in &nodes {
            let knot: BTreeSet<String> = reached[node]
                .iter()
                .filter(|other| reached[*other].contains(node))
                .map(|name| (*name).to_owned())
                .collect();
            if !knot.is_empty() {
                knots.insert(knot);
            }
        }
        knots.into_iter().collect()
    }

    /// Everything that a module reaches by one arrow or more.
    fn reached_from<'s>(&'s self, start: &str) -> BTreeSet<&'s str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            for (from, to) in self.edges.keys() {
                if from == node && reached.insert(to.as_str()) {
                    open.push(to);
                }
            }
        }
        reached
    }

    /// A shortest cycle among these modules, as its edges.
    pub(crate) fn shortest(&self, knot: &BTreeSet<String>) -> Vec<(&str, &str)> {
        knot.iter().map(|start| self.shortest_through(knot, start)).min_by_key(Vec::len).unwrap_or_default()
    }

    fn shortest_through<'s>(&'s self, knot: &BTreeSet<String>, start: &str) -> Vec<(&'s str, &'s str)> {
        let mut entered_by: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(node) = open.pop_front() {
            for (from, to) in self.edges.keys().filter(|(from, to)| from == node && knot.contains(to)) {
                if !entered_by.contains_key(to.as_str()) {
                    entered_by.insert(to, (from, to));
                    open.push_back(to);
                }
            }
        }
        let mut cycle = Vec::new();
        let mut end = start;
        while let Some(&edge) = entered_by.get(end) {
            cycle.push(edge);
            end = edge.0;
            if end == start {
                break;
            }
        }
        cycle.reverse();
        cycle
    }

    /// Modules of a knot that use each other, the direction with fewer arrows first.
    pub(crate) fn pairs(&self, knot: &BTreeSet<String>) -> Vec<[(&str, &str, &[&'a Arrow]); 2]> {
        let mut pairs = Vec::new();
        for ((from, to), there) in self.edges.iter().filter(|((from, to), _)| from < to && knot.contains(from)) {
            if let Some(back) = self.edges.get(&(to.clone(), from.clone())) {
                let mut pair =
                    [(from.as_str(), to.as_str(), there.as_slice()), (to.as_str(), from.as_str(), back.as_slice())];
                pair.sort_by_key(|(_, _, arrows)| arrows.len());
                pairs.push(pair);
            }
        }
        pairs
    }
}
