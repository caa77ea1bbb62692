//! Dicts: pairs in the order in which they came, found by key.

use crate::compare::{equal, hash, hash_text};
use crate::error::Result;
use crate::meter::{Charge, Meter};
use crate::text::Text;
use crate::value::{Value, level_above};
use std::hash::RandomState;
use std::rc::Rc;

/// With fewer pairs than this, looking at each key is faster than a table.
const FEW: usize = 9;

pub(crate) struct Dict {
    pairs: Vec<(Value, Value)>,
    table: Option<Table>,
    depth: usize,
    _charge: Charge,
}

/// Places of pairs by the hash of their keys: open addressing.
struct Table {
    places: Vec<Place>,
    hasher: RandomState,
}

/// One more than the pair's number, 0 for a place that is free, and the half of the hash that did not choose the place:
/// keys are compared where it is the same, so that what is counted does not depend on the hasher's seed.
#[derive(Clone, Copy, Default)]
struct Place {
    pair: u32,
    tag: u32,
}

/// So many places are looked at without being counted; more are as good as never.
const FREE: usize = 128;

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl Table {
    fn slot(&self, hash: u64, probe: usize) -> usize {
        (hash as usize).wrapping_add(probe) & (self.places.len() - 1)
    }

    /// The pair of this hash that `is_it`.
    fn find(&self, hash: u64, meter: &Meter, is_it: impl Fn(usize) -> Result<bool>) -> Result<Option<usize>> {
        for probe in 0..self.places.len() {
            let Place { pair, tag: known } = self.places[self.slot(hash, probe)];
            if pair == 0 {
                break;
            }
            meter.values(usize::from(probe > FREE))?;
            if known == tag(hash) && is_it(pair as usize - 1)? {
                return Ok(Some(pair as usize - 1));
            }
        }
        Ok(None)
    }
}

/// A dict in the making: of equal keys the first stays, with the last value.
pub(crate) struct Pairs {
    pairs: Vec<(Value, Value)>,
    table: Option<Table>,
    charge: Charge,
}

impl Pairs {
    pub(crate) fn new(meter: &Rc<Meter>, expected: usize) -> Result<Pairs> {
        let charge = Charge::of::<Dict>(meter, expected.saturating_mul(size_of::<(Value, Value)>()))?;
        Ok(Pairs { pairs: crate::seq::room(expected)?, table: None, charge })
    }

    pub(crate) fn insert(&mut self, key: Value, value: Value) -> Result<()> {
        let meter = self.charge.meter().clone();
        if let Some(i) = find(&self.pairs, self.table.as_ref(), &key, &meter)? {
            self.pairs[i].1 = value;
            return Ok(());
        }
        let old = self.pairs.capacity();
        if self.pairs.len() == old {
            let new = (old * 2).max(4);
            self.charge.add(new * size_of::<(Value, Value)>())?;
            self.pairs.reserve_exact(new - old);
            self.charge.remove(old * size_of::<(Value, Value)>());
        }
        self.pairs.push((key, value));
        if self.pairs.len() < FEW {
            return Ok(());
        }
        match &mut self.table {
            Some(table) if self.pairs.len() * 2 <= table.places.len() => {
                let i = self.pairs.len() - 1;
                place(table, &self.pairs[i].0, i, &meter)
            }
            _ => self.tabulate(&meter),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// A table of twice the size.
    fn tabulate(&mut self, meter: &Meter) -> Result<()> {
        let old = self.table.take().map_or(0, |table| table.places.len());
        self.charge.remove(old * size_of::<Place>());
        let size = (self.pairs.len() * 4).next_power_of_two();
        self.charge.add(size * size_of::<Place>())?;
        let mut table = Table { places: vec![Place::default(); size], hasher: RandomState::new() };
        for (i, (key, _)) in self.pairs.iter().enumerate() {
            place(&mut table, key, i, meter)?;
        }
        self.table = Some(table);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Rc<Dict>> {
        let depth = level_above(self.pairs.iter().flat_map(|(key, value)| [key, value]))?.max(1);
        Ok(Rc::new(Dict { pairs: self.pairs, table: self.table, depth, _charge: self.charge }))
    }

    pub(crate) fn value(self) -> Result<Value> {
        Ok(Value::Dict(self.finish()?))
    }
}

fn place(table: &mut Table, key: &Value, i: usize, meter: &Meter) -> Result<()> {
    let hash = hash(key, &table.hasher, meter)?;
    for probe in 0..table.places.len() {
        let slot = table.slot(hash, probe);
        if table.places[slot].pair == 0 {
            table.places[slot] = Place { pair: i as u32 + 1, tag: tag(hash) };
            break;
        }
        meter.values(usize::from(probe > FREE))?;
    }
    Ok(())
}

fn find(pairs: &[(Value, Value)], table: Option<&Table>, key: &Value, meter: &Meter) -> Result<Option<usize>> {
    if let Value::Text(name) = key {
        return find_text(pairs, table, name, meter);
    }
    let Some(table) = table else {
        // Values that can't be keys have no hash.
        crate::compare::check_hashable(key, meter)?;
        for (i, (other, _)) in pairs.iter().enumerate() {
            if equal(key, other, meter)? {
                return Ok(Some(i));
            }
        }
        return Ok(None);
    };
    table.find(hash(key, &table.hasher, meter)?, meter, |i| equal(key, &pairs[i].0, meter))
}

/// The most frequent question, without the general comparison.
fn find_text(pairs: &[(Value, Value)], table: Option<&Table>, name: &Text, meter: &Meter) -> Result<Option<usize>> {
    let name_of = |pair: &(Value, Value)| matches!(&pair.0, Value::Text(text) if text.is(name.as_str()));
    match table {
        None => {
            meter.bytes(name.len() * pairs.len())?;
            Ok(pairs.iter().position(name_of))
        }
        Some(table) => table.find(hash_text(name, &table.hasher, meter)?, meter, |i| {
            meter.bytes(name.len())?;
            Ok(name_of(&pairs[i]))
        }),
    }
}

impl Dict {
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn pairs(&self) -> &[(Value, Value)] {
        &self.pairs
    }

    pub(crate) fn get(&self, key: &Value, meter: &Meter) -> Result<Option<&Value>> {
        Ok(find(&self.pairs, self.table.as_ref(), key, meter)?.map(|i| &self.pairs[i].1))
    }

    /// The value of a key that is a text.
    pub(crate) fn named(&self, name: &Text, meter: &Meter) -> Result<Option<&Value>> {
        Ok(find_text(&self.pairs, self.table.as_ref(), name, meter)?.map(|i| &self.pairs[i].1))
    }
}
