//! The contract of every live set (S0.26). A kind of set joins with an empty set and elements for it.

use std::collections::BTreeSet;
use std::fmt::Debug;

use warploom::LiveSet;
use warploom_testkit::TestResult;

/// Every operation on a set for which only `one` exists besides `never`, which can never be in it. `refuses`
/// says whether adding `never` is an error, or nothing at all.
pub(super) fn of_capacity_one<S>(set: &S, one: &S::Item, never: impl Fn() -> S::Key, refuses: bool) -> TestResult
where
    S: LiveSet<Item: Debug>,
{
    let empty: [S::Key; 0] = [];
    let only = || BTreeSet::from([one.clone()]);
    let holds = |expected: &[&S::Item]| -> TestResult {
        let expected: BTreeSet<_> = expected.iter().copied().cloned().collect();
        assert_eq!(set.snapshot()?, expected);
        assert_eq!((set.len()?, set.is_empty()?), (expected.len(), expected.is_empty()));
        assert!(set.iter()?.eq(expected.iter().cloned()));
        assert_eq!(set.contains(one.clone())?, expected.contains(one));
        assert!(!set.contains(never())?);
        Ok(())
    };
    // Reported to the test as what it must be, whichever it is.
    let added = |result: warploom::Result<()>| assert_eq!(result.is_err(), refuses, "{result:?}");

    holds(&[])?;
    assert!(!set.remove(one.clone())? && !set.remove(never())?);
    assert!(set.pop_first()?.is_none());
    added(set.insert(never()).map(|new| assert!(!new)));
    holds(&[])?;

    assert!(set.insert(one.clone())? && !set.insert(one.clone())?);
    added(set.insert(never()).map(|new| assert!(!new)));
    assert!(!set.remove(never())?);
    holds(&[one])?;
    assert!(set.remove(one.clone())? && !set.remove(one.clone())?);
    holds(&[])?;

    set.extend(empty)?;
    added(set.extend([never()]));
    holds(&[])?;
    added(set.extend([never(), one.clone().into()]));
    if refuses {
        holds(&[])?;
    }
    set.extend([one.clone(), one.clone()])?;
    holds(&[one])?;
    assert_eq!(set.pop_first()?.as_ref(), Some(one));
    holds(&[])?;

    set.extend(only())?;
    set.subtract(std::iter::empty::<S::Key>())?;
    set.subtract([never()])?;
    holds(&[one])?;
    set.subtract([never(), one.clone().into()])?;
    holds(&[])?;
    set.extend(only())?;
    set.subtract(set.iter()?)?;
    holds(&[])?;

    set.extend(only())?;
    set.intersect([never(), one.clone().into()])?;
    holds(&[one])?;
    set.intersect([never()])?;
    holds(&[])?;
    set.extend(only())?;
    set.intersect(std::iter::empty::<S::Key>())?;
    holds(&[])?;

    set.toggle(only())?;
    holds(&[one])?;
    added(set.toggle([never()]));
    set.toggle(std::iter::empty::<S::Key>())?;
    holds(&[one])?;
    set.toggle([one.clone(), one.clone()])?;
    holds(&[])?;

    set.assign(only())?;
    holds(&[one])?;
    set.assign(set.snapshot()?)?;
    holds(&[one])?;
    added(set.assign([never(), one.clone().into()]));
    holds(&[one])?;
    added(set.assign([never()]));
    holds(if refuses { std::slice::from_ref(&one) } else { &[] })?;
    set.assign(only())?;
    set.assign(std::iter::empty::<S::Key>())?;
    holds(&[])?;

    set.retain(|_| unreachable!("there is nothing to ask about"))?;
    set.extend(only())?;
    set.retain(|element| element == *one)?;
    holds(&[one])?;
    set.retain(|_| false)?;
    holds(&[])?;

    set.clear()?;
    set.extend(only())?;
    set.clear()?;
    holds(&[])
}

/// Every operation on a set with at least these five, which are ascending: first step by step, then against
/// the standard library's set in long random programs.
pub(super) fn in_general<S>(set: &S, items: &[S::Item]) -> TestResult
where
    S: LiveSet<Item: Debug>,
{
    assert!(items.len() >= 5 && items.is_sorted());
    let some = |positions: &[usize]| -> BTreeSet<S::Item> { positions.iter().map(|at| items[*at].clone()).collect() };
    let holds = |positions: &[usize]| -> TestResult {
        assert_eq!(set.snapshot()?, some(positions));
        Ok(())
    };
    set.extend(some(&[3, 1]))?;
    holds(&[1, 3])?;
    assert!(set.iter()?.is_sorted());
    set.toggle(some(&[0, 1, 2]))?;
    holds(&[0, 2, 3])?;
    set.subtract(some(&[1, 2]))?;
    holds(&[0, 3])?;
    set.assign(some(&[1, 2, 3, 4]))?;
    holds(&[1, 2, 3, 4])?;
    set.intersect(some(&[0, 1, 2, 3]))?;
    holds(&[1, 2, 3])?;
    set.retain(|item| item != items[2])?;
    holds(&[1, 3])?;
    assert_eq!(set.pop_first()?.as_ref(), Some(&items[1]));
    holds(&[3])?;
    let walk = set.iter()?;
    set.clear()?;
    assert!(walk.eq([items[3].clone()]), "an iterator walks over what was there when it was made");
    for seed in 1..=20 {
        at_random(set, items, seed)?;
    }
    set.clear()?;
    Ok(())
}

/// A program that `seed` picks, on the set and on a model of it.
fn at_random<S>(set: &S, items: &[S::Item], seed: u64) -> TestResult
where
    S: LiveSet<Item: Debug>,
{
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).expect("31 bits") % bound
    };
    let mut model = set.snapshot()?;
    for _ in 0..30 {
        let one = items[next(items.len())].clone();
        let several: Vec<_> = items.iter().filter(|_| next(2) == 0).cloned().collect();
        let given: BTreeSet<_> = several.iter().cloned().collect();
        match next(10) {
            0 => assert_eq!(set.insert(one.clone())?, model.insert(one)),
            1 => assert_eq!(set.remove(one.clone())?, model.remove(&one)),
            2 => assert_eq!(set.pop_first()?, model.pop_first()),
            3 => {
                set.extend(several)?;
                model.extend(given);
            }
            4 => {
                set.subtract(several)?;
                model = &model - &given;
            }
            5 => {
                set.intersect(several)?;
                model = &model & &given;
            }
            6 => {
                set.toggle(several)?;
                model = &model ^ &given;
            }
            7 => {
                set.assign(several)?;
                model = given;
            }
            8 => {
                set.retain(|item| given.contains(&item))?;
                model.retain(|item| given.contains(item));
            }
            _ => assert_eq!(set.contains(one.clone())?, model.contains(&one)),
        }
        assert_eq!(set.snapshot()?, model, "seed {seed}");
    }
    Ok(())
}
