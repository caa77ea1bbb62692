//! Lists and tuples: shared values, of which a slice is a view.

use crate::error::{Result, wrong};
use crate::meter::{Charge, Meter};
use crate::value::{Value, level_above};
use std::rc::Rc;

struct Items {
    values: Vec<Value>,
    depth: usize,
    /// Whether it is an item of `groupby`, whose values are also available as `grouper` and `list`.
    grouped: bool,
    _charge: Charge,
}

/// A list or a tuple: every `step`-th of shared values.
#[derive(Clone)]
pub(crate) struct Seq {
    items: Rc<Items>,
    start: u32,
    len: u32,
    step: i32,
}

impl Seq {
    pub(crate) fn new(meter: &Rc<Meter>, values: Vec<Value>) -> Result<Seq> {
        Seq::of(meter, values, false)
    }

    pub(crate) fn grouped(meter: &Rc<Meter>, values: Vec<Value>) -> Result<Seq> {
        Seq::of(meter, values, true)
    }

    fn of(meter: &Rc<Meter>, mut values: Vec<Value>, grouped: bool) -> Result<Seq> {
        meter.value()?;
        if values.capacity() > values.len() {
            values.shrink_to_fit();
        }
        let charge = Charge::of::<Items>(meter, size_of::<Value>() * values.capacity())?;
        let depth = level_above(&values)?.max(1);
        let len = values.len() as u32; // charged, so it has far fewer bits
        Ok(Seq { items: Rc::new(Items { values, depth, grouped, _charge: charge }), start: 0, len, step: 1 })
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn depth(&self) -> usize {
        self.items.depth
    }

    pub(crate) fn is_grouped(&self) -> bool {
        self.items.grouped
    }

    pub(crate) fn get(&self, i: usize) -> Option<&Value> {
        if i >= self.len() {
            return None;
        }
        let at = i64::from(self.start) + i as i64 * i64::from(self.step);
        self.items.values.get(at as usize)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        (0..self.len()).map(|i| &self.items.values[(i64::from(self.start) + i as i64 * i64::from(self.step)) as usize])
    }

    /// A view of `len` of its values, from `start` on, every `step`-th.
    pub(crate) fn view(&self, start: usize, len: usize, step: i64) -> Seq {
        if len == 0 {
            return Seq { start: 0, len: 0, step: 1, items: self.items.clone() };
        }
        let first = i64::from(self.start) + start as i64 * i64::from(self.step);
        // With two values or more, the step is less than their number; with one it says nothing.
        let step = if len == 1 { 1 } else { step * i64::from(self.step) };
        Seq { items: self.items.clone(), start: first as u32, len: len as u32, step: step as i32 }
    }

    /// The address of its values.
    pub(crate) fn address(&self) -> usize {
        Rc::as_ptr(&self.items) as *const () as usize
    }

    /// Whether it is the same memory.
    pub(crate) fn is(&self, other: &Seq) -> bool {
        Rc::ptr_eq(&self.items, &other.items)
            && (self.start, self.len, self.step) == (other.start, other.len, other.step)
    }
}

/// Values that are gathered; they are charged before there is room for them.
pub(crate) struct Gather {
    values: Vec<Value>,
    charge: Charge,
}

impl Gather {
    pub(crate) fn new(meter: &Rc<Meter>) -> Result<Gather> {
        Gather::with_capacity(meter, 0)
    }

    pub(crate) fn with_capacity(meter: &Rc<Meter>, n: usize) -> Result<Gather> {
        let charge = Charge::new(meter, n.saturating_mul(size_of::<Value>()))?;
        Ok(Gather { values: room(n)?, charge })
    }

    pub(crate) fn push(&mut self, value: Value) -> Result<()> {
        let old = self.values.capacity();
        if self.values.len() == old {
            let new = (old * 2).max(4);
            // Both are there while the values are moved.
            self.charge.add(new * size_of::<Value>())?;
            self.values.reserve_exact(new - old);
            self.charge.remove(old * size_of::<Value>());
        }
        self.values.push(value);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut Vec<Value> {
        &mut self.values
    }

    pub(crate) fn seq(self) -> Result<Seq> {
        let meter = self.charge.meter().clone();
        // Released first, because the same memory is charged to the list.
        drop(self.charge);
        Seq::new(&meter, self.values)
    }

    pub(crate) fn list(self) -> Result<Value> {
        Ok(Value::List(self.seq()?))
    }
}

/// Room for so many things, which are charged already.
pub(crate) fn room<T>(n: usize) -> Result<Vec<T>> {
    let mut all = Vec::new();
    if all.try_reserve_exact(n).is_err() { wrong("no memory for so many values") } else { Ok(all) }
}

/// Things gathered while an operation runs, charged as long as the charge that comes with them is there.
pub(crate) fn charged<T>(meter: &Rc<Meter>, things: impl Iterator<Item = T>, n: usize) -> Result<(Vec<T>, Charge)> {
    let charge = Charge::new(meter, n.saturating_mul(size_of::<T>()))?;
    let mut all = room(n)?;
    all.extend(things.take(n));
    Ok((all, charge))
}
