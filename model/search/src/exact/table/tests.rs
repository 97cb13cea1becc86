//! A table is a set, whatever the states and the order in which they come.

use super::*;
use crate::exact::shard::{SHARDS, Shard};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Adds a mixed state to the next level.
fn insert<const W: usize>(table: &mut Table<W>, mixed: [u64; W]) {
    table.insert_all(&[mixed], None, None);
}

/// Expands some states of the level, if any are left; whether there were some.
fn expand<const W: usize>(table: &mut Table<W>, expanded: &mut BTreeMap<[u64; W], usize>) -> bool {
    let chosen = table.begin_round();
    table.round(|state, _| *expanded.entry(*state).or_default() += 1);
    table.end_round();
    chosen > 0
}

/// Adds states in waves, expanding some in between, and looks whether each was expanded once,
/// and as what it was.
fn every_state_is_expanded_once<const W: usize>(bits: &[u32], waves: &[Vec<[u64; W]>]) {
    let form = Form::<W>::new(bits);
    let mut tables: Vec<_> = (0..SHARDS).map(|shard| Table::new(&form, shard)).collect();
    let mut expanded = BTreeMap::<[u64; W], usize>::new();
    let mut all = BTreeSet::new();
    for wave in waves {
        // The level of the wave before is half expanded when this one comes.
        for half in wave.chunks(wave.len().div_ceil(2).max(1)) {
            for state in half {
                let (mixed, shard) = Table::mix(&form, state);
                assert_eq!(form.unmix(&mixed), *state);
                insert(&mut tables[shard], mixed);
                all.insert(*state);
            }
            for table in &mut tables {
                expand(table, &mut expanded);
            }
        }
        for table in &mut tables {
            while expand(table, &mut expanded) {}
            assert_eq!(table.left(), 0);
            table.begin_level();
        }
    }
    for table in &mut tables {
        while expand(table, &mut expanded) {}
    }
    let held: u64 = tables.iter().map(Table::held).sum();
    assert_eq!(held, all.len() as u64);
    assert!(expanded.keys().eq(&all) && expanded.values().all(|&times| times == 1));
}

fn cut_to<const W: usize>(bits: &[u32; W], numbers: &[u64]) -> Vec<[u64; W]> {
    let state = |numbers: &[u64]| {
        let mut state = [0; W];
        for ((word, number), bits) in state.iter_mut().zip(numbers).zip(bits) {
            *word = number.checked_shr(u64::BITS - bits).unwrap_or(0);
        }
        state
    };
    numbers.chunks_exact(W).map(state).collect()
}

fn waves(most: usize) -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(any::<u64>(), 0..most), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_table_is_a_set(bits in 1u32..=63, waves in waves(4_000)) {
        let waves: Vec<_> = waves.iter().map(|wave| cut_to(&[bits], wave)).collect();
        every_state_is_expanded_once(&[bits], &waves);
    }

    #[test]
    fn so_is_one_of_wide_states(last in 1u32..=64, waves in waves(4_000)) {
        let bits = [63, 64, last];
        let waves: Vec<_> = waves.iter().map(|wave| cut_to(&bits, wave)).collect();
        every_state_is_expanded_once(&bits, &waves);
    }
}

/// Large enough for one cell each, and for tables that grow while a level is expanded.
#[test]
fn many_states_that_are_alike_take_a_cell_each() {
    let wave = |from: u64| (from..from + 150_000).map(|number| [number * 3]).collect();
    every_state_is_expanded_once(&[24], &[wave(0), wave(100_000), wave(400_000)]);
    let form = Form::<1>::new(&[24]);
    let mut table = Table::new(&form, 7);
    for number in 0..1 << 24 {
        let (mixed, shard) = Table::mix(&form, &[number]);
        if shard == 7 {
            insert(&mut table, mixed);
        }
    }
    assert_eq!((table.held(), table.size.cells), (1 << 17, 1));
    let cells = table.size.all_buckets() * table.size.bucket;
    assert!(cells < (1 << 17) * 4 / 3, "{cells} cells");
}

/// Each of the states that find their places full lets another one move.
#[test]
fn a_table_is_nearly_full_before_it_grows() {
    for bits in [40, 63] {
        let form = Form::<1>::new(&[bits]);
        let mut table = Table::new(&form, 0);
        let (mut state, mut worst) = (0u64, 1.0f64);
        while table.held() < 60_000 {
            let (size, held) = (table.size, table.held());
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            insert(&mut table, [state >> (u64::BITS - form.head_bits())]);
            if table.size != size && held > 2_000 {
                worst = worst.min(held as f64 / (size.buckets() * size.places()) as f64);
            }
        }
        assert!(worst > 0.93, "{bits} bits: it grew with {worst:.3} of its places taken");
    }
}

/// States of another form are the same states, and so is how far the search is with them.
#[test]
fn what_is_taken_over_is_at_the_same_stage() {
    let form = Form::<1>::new(&[40]);
    let mut table = Table::new(&form, 0);
    let mixed: Vec<_> = (0..300_000u64).map(|number| Table::mix(&form, &[number])).collect();
    let here: Vec<_> = mixed.iter().filter(|(_, shard)| *shard == 0).collect();
    let (first, last) = here.split_at(here.len() / 2);
    first.iter().for_each(|(state, _)| insert(&mut table, *state));
    table.begin_level();
    table.begin_round();
    table.end_round();
    last.iter().for_each(|(state, _)| insert(&mut table, *state));
    let (left, held, turn) = (table.left(), table.held(), table.turn());
    assert!(left > 0, "the level is half expanded");
    let wider = Form::<2>::new(&[63, 30]);
    let mut tables: Vec<_> =
        (0..SHARDS).map(|shard| Table::new(&wider, shard).at_turn(turn)).collect();
    let (states, stages) = table.into_states();
    for (&state, stage) in states.iter().zip(stages) {
        let (mixed, shard) = Table::mix(&wider, &[state, state % 1_000]);
        tables[shard].take_over(&mixed, stage);
    }
    assert_eq!(tables.iter().map(Table::held).sum::<u64>(), held);
    assert_eq!(tables.iter().map(Table::left).sum::<u64>(), left);
    let next: u64 = tables.iter_mut().map(Table::begin_level).sum();
    assert_eq!(next, last.len() as u64);
}

/// Of the ways to a state of the next level, the one that leaves out most; those that come when it
/// is its turn are longer.
#[test]
fn the_largest_way_is_remembered() {
    for bits in [&[30][..], &[63, 40]] {
        let form = Form::<2>::new(bits);
        let (state, shard) = Table::mix(&form, &[5, 0]);
        let mut table = Table::new(&form, shard);
        let mut expanded = Vec::new();
        for lasts in [[2, 3], [9, 4], [6, 7]] {
            table.insert_all(&[state, state], Some(&lasts), None);
        }
        table.begin_level();
        table.insert_all(&[state], Some(&[14]), None);
        table.begin_round();
        table.round(|_, last| expanded.push(last));
        table.end_round();
        assert_eq!((expanded, table.begin_level()), (vec![9], 0));
    }
}
