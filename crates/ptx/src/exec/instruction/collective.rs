//! Instructions across the lanes of a warp: shuffles, votes, matches, reductions.

use crate::device::host::{Event, Host};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Next, Stop, stop};
use crate::exec::warp::group::{Group, State};
use crate::lanes::{ALL, LANES, lanes as each, map_row};
use crate::program::operation::{Operation, Reduction, Shuffle, Vote};
use crate::program::slot::Slot;

impl<M: Memory + Host> Executor<'_, M> {
    /// All lanes that a mask operand names; without `.sync` there is none, and those that are here are meant.
    pub(crate) fn needed(&self, warp: &mut Warp, at: Current, lanes: u32, mask: Slot) -> u32 {
        let file = self.file(warp, at);
        let masks = file.words(mask);
        let first = masks[lanes.trailing_zeros() as usize];
        let named = if mask.is_constant() { first } else { each(lanes).fold(0, |all, lane| all | masks[lane]) };
        if named == 0 { lanes } else { named }
    }

    /// `true` if all lanes that an instruction needs are here; if not, those that are here wait, and the
    /// others go on.
    pub(crate) fn gathered(&self, warp: &mut Warp, at: Current, lanes: u32, needed: u32) -> bool {
        if needed & warp.live & !lanes == 0 {
            self.tell(warp, at, lanes & needed, Event::Lanes);
            return true;
        }
        let group = &mut warp.groups[at.index];
        let before = Group { pc: at.pc, ..*group };
        *group = Group { lanes, state: State::Lanes(needed), ..before };
        if at.lanes != lanes {
            warp.groups.push(Group { lanes: at.lanes & !lanes, pc: at.pc + 1, state: State::Ready, ..before });
        }
        false
    }

    /// Lanes that name the same mask, and those of them that it names: groups of a warp may be at one
    /// instruction together, each with its own.
    fn parties(
        &self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        mask: Slot,
    ) -> impl Iterator<Item = (u32, u32)> + use<M> {
        let masks = *self.file(warp, at).words(mask);
        let mut rest = lanes;
        std::iter::from_fn(move || {
            let first = masks.get(rest.trailing_zeros() as usize)?;
            let same = |lane: &usize| masks[*lane] == *first;
            let party =
                if mask.is_constant() { rest } else { each(rest).filter(same).fold(0, |all, lane| all | 1 << lane) };
            rest &= !party;
            Some((party, if *first == 0 { party } else { party & first }))
        })
    }

    /// Resolves a warp in which no group can go on: `bar.warp.sync` may be met at different instructions,
    /// everything else is a deadlock.
    pub(crate) fn release_lanes(&self, warp: &mut Warp) -> Result<bool, Stop> {
        let code = &self.context.program.code.instructions;
        let waits = |state: State| match state {
            State::Lanes(needed) => Some(needed),
            _ => None,
        };
        let Some((first, needed)) = warp.groups.iter().find_map(|group| Some((*group, waits(group.state)?))) else {
            return Ok(false);
        };
        let at_barrier = |pc: u32| code[pc as usize].operation == Operation::WarpBarrier;
        let mates = |state: State, pc: u32| waits(state) == Some(needed) && at_barrier(pc);
        let here =
            warp.groups.iter().filter(|group| mates(group.state, group.pc)).fold(0, |all, group| all | group.lanes);
        if at_barrier(first.pc) && needed & warp.live & !here == 0 {
            for group in warp.groups.iter_mut().filter(|group| mates(group.state, group.pc)) {
                (group.state, group.pc) = (State::Ready, group.pc + 1);
            }
            let at = Current { index: 0, lanes: here, pc: first.pc, frame: first.frame };
            self.tell(warp, at, here, Event::Lanes);
            return Ok(true);
        }
        // Lanes at a barrier of the block may still come.
        if warp.groups.iter().any(|group| matches!(group.state, State::Barrier(_))) {
            return Ok(false);
        }
        let at = Current { index: 0, lanes: first.lanes, pc: first.pc, frame: first.frame };
        Err(stop(warp, at, first.lanes, TrapKind::Deadlock("lanes of a warp's mask never meet at this instruction")))
    }

    pub(crate) fn shuffle(
        &self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        kind: Shuffle,
        &[d, p, a, b, c, mask]: &[Slot; 6],
    ) -> Next {
        let needed = self.needed(warp, at, lanes, mask);
        if !self.gathered(warp, at, lanes, needed) {
            return Next::Regroup;
        }
        let mut file = self.file(warp, at);
        let (values, by, limits) = (*file.words(a), *file.words(b), *file.words(c));
        let (mut row, mut inside) = ([0; LANES], 0);
        for lane in 0..LANES as u32 {
            let (by, limit) = (by[lane as usize] & 31, limits[lane as usize]);
            let (clamp, segment) = (limit & 31, limit >> 8 & 31);
            let (most, least) = ((lane & segment) | (clamp & !segment), lane & segment);
            let (source, valid) = match kind {
                Shuffle::Up => (lane.wrapping_sub(by), lane.checked_sub(by).is_some_and(|source| source >= most)),
                Shuffle::Down => (lane + by, lane + by <= most),
                Shuffle::Butterfly => (lane ^ by, lane ^ by <= most),
                Shuffle::Index => (least | (by & !segment), least | (by & !segment) <= most),
            };
            row[lane as usize] = values[if valid { source } else { lane } as usize & 31];
            inside |= u32::from(valid) << lane;
        }
        file.set_words(d, lanes, &row);
        file.set_predicate(p, lanes, inside);
        Next::Following
    }

    pub(crate) fn vote(&self, warp: &mut Warp, at: Current, lanes: u32, kind: Vote, [d, a, mask]: [Slot; 3]) -> Next {
        let needed = self.needed(warp, at, lanes, mask);
        if !self.gathered(warp, at, lanes, needed) {
            return Next::Regroup;
        }
        let predicate = self.file(warp, at).predicate(a);
        for (lanes, voters) in self.parties(warp, at, lanes, mask) {
            let mut file = self.file(warp, at);
            let yes = predicate & voters;
            let all = |holds: bool| if holds { ALL } else { 0 };
            match kind {
                Vote::Ballot => file.set_words(d, lanes, &[yes; LANES]),
                Vote::All => file.set_predicate(d, lanes, all(yes == voters)),
                Vote::Any => file.set_predicate(d, lanes, all(yes != 0)),
                Vote::Uniform => file.set_predicate(d, lanes, all(yes == 0 || yes == voters)),
            }
        }
        Next::Following
    }

    pub(crate) fn matching(
        &self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        everyone: bool,
        long: bool,
        &[d, p, a, mask, ..]: &[Slot; 6],
    ) -> Next {
        let needed = self.needed(warp, at, lanes, mask);
        if !self.gathered(warp, at, lanes, needed) {
            return Next::Regroup;
        }
        let file = self.file(warp, at);
        let values = if long { *file.longs(a) } else { map_row(file.words(a), u64::from) };
        for (lanes, members) in self.parties(warp, at, lanes, mask) {
            let alike =
                |lane: usize| each(members).filter(|other| values[*other] == values[lane]).fold(0, |m, l| m | 1 << l);
            let mut row = [0; LANES];
            let mut same = 0;
            for lane in each(members) {
                row[lane] = alike(lane);
                if everyone && row[lane] != members {
                    row[lane] = 0;
                }
                same |= u32::from(row[lane] == members) << lane;
            }
            let mut file = self.file(warp, at);
            file.set_words(d, lanes, &row);
            file.set_predicate(p, lanes, same);
        }
        Next::Following
    }

    pub(crate) fn reduce(
        &self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        kind: Reduction,
        [d, a, mask]: [Slot; 3],
    ) -> Next {
        let needed = self.needed(warp, at, lanes, mask);
        if !self.gathered(warp, at, lanes, needed) {
            return Next::Regroup;
        }
        let values = *self.file(warp, at).words(a);
        let signed =
            |pick: fn(i32, i32) -> i32| move |a: u32, b: u32| pick(a.cast_signed(), b.cast_signed()).cast_unsigned();
        for (lanes, members) in self.parties(warp, at, lanes, mask) {
            let members = each(members).map(|lane| values[lane]);
            let value = match kind {
                Reduction::Add => members.reduce(u32::wrapping_add),
                Reduction::And => members.reduce(|a, b| a & b),
                Reduction::Or => members.reduce(|a, b| a | b),
                Reduction::Xor => members.reduce(|a, b| a ^ b),
                Reduction::MinimumUnsigned => members.min(),
                Reduction::MaximumUnsigned => members.max(),
                Reduction::MinimumSigned => members.reduce(signed(i32::min)),
                Reduction::MaximumSigned => members.reduce(signed(i32::max)),
            };
            self.file(warp, at).set_words(d, lanes, &[value.unwrap_or(0); LANES]);
        }
        Next::Following
    }

    pub(crate) fn elect(&self, warp: &mut Warp, at: Current, lanes: u32, [d, p, mask]: [Slot; 3]) -> Next {
        let needed = self.needed(warp, at, lanes, mask);
        if !self.gathered(warp, at, lanes, needed) {
            return Next::Regroup;
        }
        for (lanes, members) in self.parties(warp, at, lanes, mask) {
            let (leader, mut file) = (members.trailing_zeros(), self.file(warp, at));
            file.set_words(d, lanes, &[leader; LANES]);
            file.set_predicate(p, lanes, 1u32.checked_shl(leader).unwrap_or(0));
        }
        Next::Following
    }
}
