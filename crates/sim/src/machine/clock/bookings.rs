//! Bookings of a shared part of a device: its multiprocessors, or one direction of a link.
//!
//! A booking waits for those of calls before its own, and never for those of later ones: so its times are the
//! same in whichever order the ops end.

use std::collections::VecDeque;

use warploom_engine::Period;

use crate::machine::work::{Demand, WHOLE};

/// Bookings that are kept; older ones are over for any op that is still to come.
const KEPT: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Booking {
    /// The number of the op's call.
    number: u64,
    start: u64,
    end: u64,
    share: u32,
}

/// The latest bookings of one part, by their ends: most requests come behind all of them and look at none.
#[derive(Clone, Debug, Default)]
pub(super) struct Bookings {
    kept: VecDeque<Booking>,
}

impl Bookings {
    /// Books a kernel, from `earliest` on. Blocks start where there is room, and stay until they end.
    pub(super) fn kernel(&mut self, number: u64, earliest: u64, demand: Demand) -> Period {
        let (share, round) = (demand.share.clamp(1, WHOLE), demand.round.max(1));
        let mut work = demand.work.max(1);
        let (mut now, mut start) = (earliest, None);
        loop {
            let (free, change) = self.free_at(number, now);
            let width = share.min(free);
            if width == 0 {
                now = change;
                continue;
            }
            let start = *start.get_or_insert(now);
            let rounds = work / (u128::from(width) * u128::from(round));
            if rounds == 0 {
                // The last blocks, fewer than there is room for.
                let width = u32::try_from(work.div_ceil(round.into())).unwrap_or(width).min(width);
                let end = now.saturating_add(round);
                self.keep(Booking { number, start: now, end, share: width });
                return Period { start, end };
            }
            // Blocks that have started stay until they end, whatever becomes free meanwhile.
            let rounds = rounds.min((change - now).div_ceil(round).into());
            let end = u64::try_from(rounds * u128::from(round)).map_or(u64::MAX, |time| now.saturating_add(time));
            self.keep(Booking { number, start: now, end, share: width });
            work -= u128::from(width) * u128::from(end - now);
            now = end;
            if work == 0 || now == u64::MAX {
                return Period { start, end };
            }
        }
    }

    /// Bookings of earlier calls that end after a time.
    fn after(&self, number: u64, time: u64) -> impl Iterator<Item = &Booking> {
        self.kept
            .iter()
            .rev()
            .take_while(move |booking| booking.end > time)
            .filter(move |booking| booking.number < number)
    }

    /// The free share at a time, for an op that sees earlier calls, and when that changes.
    fn free_at(&self, number: u64, now: u64) -> (u32, u64) {
        let (mut free, mut change) = (WHOLE, u64::MAX);
        for booking in self.after(number, now) {
            if booking.start <= now {
                free = free.saturating_sub(booking.share);
                change = change.min(booking.end);
            } else {
                change = change.min(booking.start);
            }
        }
        (free, change)
    }

    /// The first time, from `earliest` on, at which nothing of earlier calls is booked for a while.
    pub(super) fn gap(&self, number: u64, earliest: u64, duration: u64) -> u64 {
        let mut start = earliest;
        loop {
            let end = start.saturating_add(duration.max(1));
            match self.after(number, start).find(|booking| booking.start < end) {
                Some(last) => start = last.end,
                None => return start,
            }
        }
    }

    /// Books the whole for a time.
    pub(super) fn take(&mut self, number: u64, start: u64, end: u64) {
        self.keep(Booking { number, start, end, share: WHOLE });
    }

    fn keep(&mut self, booking: Booking) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        let later = self.kept.iter().rev().take_while(|kept| kept.end > booking.end).count();
        self.kept.insert(self.kept.len() - later, booking);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of one round.
    fn once(share: u32, round: u64) -> Demand {
        Demand { share, round, work: u128::from(share) * u128::from(round) }
    }

    #[test]
    fn halves_fit_side_by_side_and_wholes_follow_each_other() {
        let mut halves = Bookings::default();
        let [first, second] = [0, 1].map(|number| halves.kernel(number, 100, once(WHOLE / 2, 1000)));
        assert_eq!((first, second), (Period { start: 100, end: 1100 }, Period { start: 100, end: 1100 }));
        let third = halves.kernel(2, 100, once(WHOLE / 2, 1000));
        assert_eq!(third, Period { start: 1100, end: 2100 });
        let mut wholes = Bookings::default();
        let [first, second] = [0, 1].map(|number| wholes.kernel(number, 100, once(WHOLE, 1000)));
        assert_eq!((first.end, second), (1100, Period { start: 1100, end: 2100 }));
    }

    #[test]
    fn blocks_of_the_next_kernel_fill_the_room_that_the_last_round_leaves() {
        // One and a half rounds each: three rounds together, as on an H200.
        let demand = Demand { share: WHOLE, round: 5000, work: u128::from(WHOLE) * 7500 };
        let mut bookings = Bookings::default();
        assert_eq!(bookings.kernel(0, 0, demand), Period { start: 0, end: 10_000 });
        assert_eq!(bookings.kernel(1, 0, demand), Period { start: 5000, end: 15_000 });
    }

    #[test]
    fn bookings_do_not_depend_on_the_order_in_which_they_are_made() {
        let kernels = [(0, 50, WHOLE, 700), (1, 0, WHOLE / 2, 300), (2, 10, WHOLE / 3, 900)];
        let mut forward = Bookings::default();
        let expected = kernels.map(|(number, at, share, time)| forward.kernel(number, at, once(share, time)));
        // A later call that ended first in real time is not seen.
        let mut late = Bookings::default();
        late.kernel(7, 0, once(WHOLE, 5000));
        let found = kernels.map(|(number, at, share, time)| late.kernel(number, at, once(share, time)));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_booking_that_ends_first_is_forgotten_first() {
        let mut bookings = Bookings::default();
        bookings.take(0, 5000, 6000);
        (1..=KEPT as u64).for_each(|number| bookings.take(number, number * 10, number * 10 + 10));
        // The first of the short ones is gone, and the long one, booked before it, is not.
        assert_eq!(bookings.gap(u64::MAX, 10, 10), 10);
        assert_eq!(bookings.gap(u64::MAX, 20, 10), KEPT as u64 * 10 + 10);
        assert_eq!(bookings.gap(u64::MAX, 5500, 10), 6000);
    }

    #[test]
    fn a_gap_between_bookings_is_used_if_it_is_long_enough() {
        let mut bookings = Bookings::default();
        bookings.take(0, 100, 200);
        bookings.take(1, 300, 400);
        assert_eq!(bookings.gap(2, 0, 100), 0);
        assert_eq!(bookings.gap(2, 150, 100), 200);
        assert_eq!(bookings.gap(2, 150, 101), 400);
        assert_eq!(bookings.gap(0, 150, 101), 150);
    }
}
