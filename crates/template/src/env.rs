//! The shared state of a rendering.

use crate::dict::{Dict, Pairs};
use crate::error::{Fail, Kind, Result};
use crate::meter::{Charge, Meter};
use crate::text::{Origin, Text};
use crate::value::{Undefined, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// The meter, the clock and the namespaces of one rendering.
pub(crate) struct Env {
    pub meter: Rc<Meter>,
    /// The time for `strftime_now`: seconds since 1970, UTC.
    pub now: i64,
    namespaces: RefCell<Vec<Namespace>>,
}

/// Attributes by name, in the order in which they came.
pub(crate) struct Namespace {
    attributes: Vec<(Text, Value)>,
    charge: Charge,
}

impl Env {
    pub(crate) fn new(meter: Rc<Meter>, now: i64) -> Env {
        Env { meter, now, namespaces: RefCell::new(Vec::new()) }
    }

    /// A text that an operation writes itself.
    pub(crate) fn text(&self, text: &str) -> Result<Value> {
        Ok(Value::Text(Text::new(&self.meter, text, Origin::Template)?))
    }

    /// A value that is not there.
    pub(crate) fn undefined(&self, why: &'static str) -> Result<Value> {
        Undefined::because(&self.meter, why)
    }

    pub(crate) fn namespace(&self, attributes: Vec<(Text, Value)>) -> Result<Value> {
        for (name, _) in &attributes {
            check_name(name)?;
        }
        // The table of namespaces grows by doubling: old and new one are there while it does.
        let bytes = 3 * size_of::<Namespace>() + attributes.capacity() * size_of::<(Text, Value)>();
        let charge = Charge::new(&self.meter, bytes)?;
        let mut namespaces = self.namespaces.borrow_mut();
        namespaces.push(Namespace { attributes, charge });
        Ok(Value::Namespace(namespaces.len() as u32 - 1))
    }

    pub(crate) fn attribute(&self, namespace: u32, name: &str) -> Result<Option<Value>> {
        let namespaces = self.namespaces.borrow();
        let Some(Namespace { attributes, .. }) = namespaces.get(namespace as usize) else { return Ok(None) };
        self.meter.values(attributes.len())?;
        let found = attributes.iter().find(|(known, _)| known.is(name));
        Ok(found.map(|(_, value)| value.clone()))
    }

    pub(crate) fn set_attribute(&self, namespace: u32, name: &Text, value: Value) -> Result<()> {
        check_name(name)?;
        let mut namespaces = self.namespaces.borrow_mut();
        let Some(Namespace { attributes, charge }) = namespaces.get_mut(namespace as usize) else { return Ok(()) };
        self.meter.values(attributes.len())?;
        match attributes.iter_mut().find(|(known, _)| known.is(name.as_str())) {
            Some((_, old)) => *old = value,
            None => {
                charge.add(2 * size_of::<(Text, Value)>())?;
                attributes.push((name.clone(), value));
            }
        }
        Ok(())
    }

    /// The attributes of a namespace as a dict, to be printed.
    pub(crate) fn attributes(&self, namespace: u32) -> Result<Rc<Dict>> {
        let namespaces = self.namespaces.borrow();
        let attributes = namespaces.get(namespace as usize).map_or(&[][..], |namespace| &namespace.attributes);
        let mut pairs = Pairs::new(&self.meter, attributes.len())?;
        for (name, value) in attributes {
            pairs.insert(Value::Text(name.clone()), value.clone())?;
        }
        pairs.finish()
    }
}

/// As transformers' namespaces.
fn check_name(name: &Text) -> Result<()> {
    if !name.as_str().starts_with('_') {
        return Ok(());
    }
    let name = crate::error::shortened(name.as_str(), 80);
    Err(Fail::new(Kind::Sandbox, format!("a namespace has no attributes that begin with an underscore, as '{name}'")))
}
