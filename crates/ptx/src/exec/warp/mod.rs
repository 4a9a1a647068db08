//! A warp: its divergent groups of lanes, and the order in which they run.

pub(crate) mod barriers;
pub(crate) mod executor;
pub(crate) mod frame;
pub(crate) mod group;
pub(crate) mod local;
pub(crate) mod time;

use std::cmp::Reverse;

use crate::exec::warp::frame::Frames;
use crate::exec::warp::group::{Group, State};
use crate::exec::warp::local::Local;
use crate::exec::warp::time::Time;
use crate::lanes::Words;

/// Up to 32 threads that advance together.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) index: u32,
    /// Lanes whose thread has not ended.
    pub(crate) live: u32,
    pub(crate) groups: Vec<Group>,
    pub(crate) frames: Frames,
    pub(crate) local: Local,
    /// The last error of the device runtime, for each lane.
    pub(crate) errors: Words,
    pub(crate) time: Time,
    pub(crate) divergence: Divergence,
    /// The group that ran when the fuel was used up, and the instructions that it may still carry out before
    /// others.
    pub(crate) interrupted: Option<(usize, u64)>,
}

/// Counts of diverging control flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Divergence {
    /// Instructions, each counted once for every lane of the group that ran it.
    pub(crate) thread_instructions: u64,
    /// Branches at which lanes parted.
    pub(crate) branches: u64,
}

impl Warp {
    /// The group that goes next, with all that stand where it stands.
    ///
    /// The innermost function first, because groups outside wait for it; then the lowest instruction,
    /// because those ahead may be waiting for it to catch up.
    pub(crate) fn pick(&mut self) -> Option<usize> {
        if let [group] = self.groups.as_slice() {
            return self.runs(group).then_some(0);
        }
        let ready = |group: &&Group| self.runs(group);
        let key = |group: &Group| (group.penalty, Reverse(self.frames.depth(group.frame)), group.pc);
        let best = self.groups.iter().filter(ready).min_by_key(|group| key(group)).copied()?;
        // Groups elsewhere keep their state; those at the same place become one.
        let mut merged = Group { lanes: 0, state: State::Ready, ..best };
        self.groups.retain(|group| {
            let same = group.frame == best.frame && group.pc == best.pc && !matches!(group.state, State::Barrier(_));
            if same {
                merged.lanes |= group.lanes;
            }
            !same
        });
        self.groups.push(merged);
        Some(self.groups.len() - 1)
    }

    /// `true` if a group can go on.
    fn runs(&self, group: &Group) -> bool {
        match group.state {
            State::Ready => true,
            State::Barrier(_) => false,
            State::Lanes(needed) => needed & self.live & !group.lanes == 0,
        }
    }

    /// The next instruction above the group's own at which another waits to be met.
    pub(crate) fn meeting(&self, index: usize) -> u32 {
        let this = self.groups[index];
        let others = self.groups.iter().enumerate().filter(|(other, group)| {
            *other != index
                && group.frame == this.frame
                && group.pc > this.pc
                && !matches!(group.state, State::Barrier(_))
        });
        others.map(|(_, group)| group.pc).min().unwrap_or(u32::MAX)
    }

    /// A group that ran for long while others were waiting lets them go first.
    pub(crate) fn overtake(&mut self, index: usize) {
        self.groups[index].penalty += 1;
        let least = self.groups.iter().filter(|group| self.runs(group)).map(|group| group.penalty).min().unwrap_or(0);
        for group in &mut self.groups {
            group.penalty = group.penalty.saturating_sub(least);
        }
    }

    /// Lanes end: wherever they stand, they are gone.
    pub(crate) fn end(&mut self, lanes: u32) {
        self.live &= !lanes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(lanes: u32, pc: u32, frame: usize, state: State) -> Group {
        Group { lanes, pc, frame, state, penalty: 0 }
    }

    fn warp(groups: &[Group]) -> Warp {
        let mut warp = Warp { live: u32::MAX, groups: groups.to_vec(), ..Warp::default() };
        let (outer, inner) = (warp.frames.take(), warp.frames.take());
        warp.frames.get(outer).depth = 0;
        warp.frames.get(inner).depth = 1;
        warp
    }

    #[test]
    fn the_innermost_function_and_then_the_lowest_instruction_goes_first() {
        let mut warp =
            warp(&[group(1, 5, 0, State::Ready), group(2, 9, 1, State::Ready), group(4, 7, 1, State::Ready)]);
        let index = warp.pick().unwrap();
        assert_eq!((warp.groups[index].lanes, warp.groups[index].pc), (4, 7));
        assert_eq!(warp.meeting(index), 9);
    }

    #[test]
    fn groups_at_the_same_place_become_one_unless_they_wait_at_a_barrier() {
        let mut warp = warp(&[
            group(1, 5, 0, State::Ready),
            group(2, 5, 0, State::Lanes(3)),
            group(4, 5, 0, State::Barrier(0)),
            group(8, 5, 1, State::Barrier(0)),
        ]);
        let index = warp.pick().unwrap();
        assert_eq!((warp.groups[index].lanes, warp.groups.len()), (3, 3));
    }

    #[test]
    fn lanes_that_have_ended_are_not_waited_for() {
        let mut warp = warp(&[group(1, 5, 0, State::Lanes(3)), group(4, 9, 0, State::Barrier(1))]);
        assert_eq!(warp.pick(), None);
        warp.end(2);
        assert!(warp.pick().is_some());
    }

    #[test]
    fn a_group_that_ran_for_long_is_overtaken() {
        let mut warp = warp(&[group(1, 5, 0, State::Ready), group(2, 9, 0, State::Ready)]);
        let index = warp.pick().unwrap();
        warp.overtake(index);
        let index = warp.pick().unwrap();
        assert_eq!(warp.groups[index].pc, 9);
        warp.overtake(index);
        let index = warp.pick().unwrap();
        assert_eq!(warp.groups[index].pc, 5);
    }
}
