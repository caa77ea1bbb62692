//! Resolves names to variables, by the rules of Jinja: a scope knows all names that its statements use before the first
//! statement runs, and the initial value of a name depends on its uses in the scope.

use crate::parse::ast::{Ast, Expr, ExprId, For, Kind, NameId, Signature, Stmt, Target};
use crate::program::Var;
use std::collections::{HashMap, HashSet};

/// The initial value of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The scope's owner puts it there: a parameter, the target of a loop.
    Given,
    /// A variable of the rendering, of this name.
    Resolved(NameId),
    /// The value that an outer scope has under this name.
    Alias(usize, u32),
    Nothing,
}

#[derive(Debug, Default)]
struct Scope {
    function: usize,
    /// The slot of a name, and its place in `starts`.
    slots: HashMap<NameId, (u32, usize)>,
    /// In the order in which they came.
    starts: Vec<(u32, Start)>,
    stores: HashSet<NameId>,
    /// The stores in the order in which they came.
    stored: Vec<NameId>,
}

/// The scopes around a place, from the outermost.
#[derive(Default)]
pub(super) struct Scopes {
    scopes: Vec<Scope>,
    aside: Vec<Scope>,
    /// Slots of each function that is open.
    slots: Vec<u32>,
}

impl Scopes {
    pub(super) fn enter_function(&mut self) {
        self.slots.push(0);
        self.enter();
    }

    /// Gives the number of its slots.
    pub(super) fn leave_function(&mut self) -> u32 {
        self.leave();
        self.slots.pop().unwrap_or_default()
    }

    pub(super) fn enter(&mut self) {
        self.scopes.push(Scope { function: self.slots.len() - 1, ..Scope::default() });
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// The innermost scope is not seen until [`Scopes::take_back`].
    pub(super) fn set_aside(&mut self) {
        self.aside.extend(self.scopes.pop());
    }

    pub(super) fn take_back(&mut self) {
        self.scopes.extend(self.aside.pop());
    }

    fn top(&mut self) -> &mut Scope {
        // A function is open while there is code.
        self.scopes.last_mut().expect("a scope is open")
    }

    /// Function and slot of a name, looked up from a scope outwards.
    fn find(&self, name: NameId, scopes: usize) -> Option<(usize, u32)> {
        self.scopes[..scopes].iter().rev().find_map(|scope| Some((scope.function, scope.slots.get(&name)?.0)))
    }

    fn define(&mut self, name: NameId, start: Start) -> u32 {
        if let Some(&(slot, place)) = self.top().slots.get(&name) {
            self.top().starts[place].1 = start;
            return slot;
        }
        let slot = self.unnamed();
        let top = self.top();
        top.slots.insert(name, (slot, top.starts.len()));
        top.starts.push((slot, start));
        slot
    }

    /// A slot that has no name.
    pub(super) fn unnamed(&mut self) -> u32 {
        let function = self.slots.len() - 1;
        self.slots[function] += 1;
        self.slots[function] - 1
    }

    /// Adds a name whose value the caller provides.
    pub(super) fn give(&mut self, name: NameId) -> u32 {
        let slot = self.define(name, Start::Given);
        self.stored(name);
        slot
    }

    fn stored(&mut self, name: NameId) {
        let top = self.top();
        if top.stores.insert(name) {
            top.stored.push(name);
        }
    }

    fn store(&mut self, name: NameId) {
        self.stored(name);
        if !self.top().slots.contains_key(&name) {
            let start = self.outer(name).unwrap_or(Start::Nothing);
            self.define(name, start);
        }
    }

    fn outer(&self, name: NameId) -> Option<Start> {
        let (function, slot) = self.find(name, self.scopes.len() - 1)?;
        Some(Start::Alias(function, slot))
    }

    fn load(&mut self, name: NameId) {
        if self.find(name, self.scopes.len()).is_none() {
            self.define(name, Start::Resolved(name));
        }
    }

    /// The variable of a name, which the scope has seen.
    pub(super) fn var(&self, name: NameId) -> Option<Var> {
        let (function, slot) = self.find(name, self.scopes.len())?;
        Some(self.reach(function, slot))
    }

    pub(super) fn reach(&self, function: usize, slot: u32) -> Var {
        // Functions are inside each other at most as deep as statements are.
        Var { up: (self.slots.len() - 1 - function) as u16, slot }
    }

    /// A slot of the innermost function.
    pub(super) fn own(slot: u32) -> Var {
        Var { up: 0, slot }
    }

    /// The slots of the innermost scope with their initial values.
    pub(super) fn starts(&self) -> Vec<(u32, Start)> {
        self.scopes.last().map_or(Vec::new(), |scope| scope.starts.clone())
    }

    /// The names that statements use in the innermost scope.
    pub(super) fn see(&mut self, body: &[Stmt], ast: &Ast) {
        for statement in body {
            self.see_statement(statement, ast);
        }
    }

    fn see_statement(&mut self, statement: &Stmt, ast: &Ast) {
        match &statement.kind {
            Kind::Data(..) | Kind::Break | Kind::Continue | Kind::Generation(_) => {}
            Kind::Print(value) => self.see_value(*value, ast),
            Kind::Set(target, value) => {
                self.see_value(*value, ast);
                self.see_target(target);
            }
            Kind::SetBlock(target, ..) => self.see_target(target),
            Kind::If(arms, otherwise) => {
                // If no arm sets a name that another arm sets, the name has the value of the outer scope.
                let before = self.top().stored.len();
                for (test, body) in arms {
                    self.see_value(*test, ast);
                    self.see(body, ast);
                }
                self.see(otherwise, ast);
                let new: Vec<NameId> = self.top().stored[before..].to_vec();
                for name in new {
                    let start = self.outer(name).unwrap_or(Start::Resolved(name));
                    self.define(name, start);
                }
            }
            Kind::For(looped) => self.see_value(looped.of, ast),
            Kind::Macro(name, ..) => self.store(*name),
            Kind::Call(_, call, _) => self.see_value(*call, ast),
            Kind::Filter(filter, _) => self.see_value(*filter, ast),
            Kind::With(values, _) => values.iter().for_each(|(_, value)| self.see_value(*value, ast)),
        }
    }

    pub(super) fn see_target(&mut self, target: &Target) {
        match target {
            Target::Name(name) => self.store(*name),
            Target::Attribute(namespace, _) => self.load(*namespace),
            Target::Tuple(targets) => targets.iter().for_each(|target| self.see_target(target)),
        }
    }

    pub(super) fn see_value(&mut self, value: ExprId, ast: &Ast) {
        names(value, ast, &mut |name| self.load(name));
    }

    /// The parameters of a function and the names of their defaults.
    pub(super) fn see_signature(&mut self, signature: &Signature, ast: &Ast) {
        for name in &signature.names {
            self.give(*name);
        }
        for default in &signature.defaults {
            self.see_value(*default, ast);
        }
    }
}

/// Calls `f` with each name that an expression reads, in the order of the source. It uses an explicit list of
/// expressions instead of recursion.
pub(super) fn names(value: ExprId, ast: &Ast, f: &mut dyn FnMut(NameId)) {
    let mut left = vec![value];
    while let Some(id) = left.pop() {
        let from = left.len();
        match ast.expr(id) {
            Expr::Literal(_) | Expr::BadSlice => {}
            Expr::Name(name) => f(*name),
            Expr::List(items) | Expr::Tuple(items) | Expr::Concat(items) => left.extend(items),
            Expr::Dict(pairs) => left.extend(pairs.iter().flat_map(|(key, value)| [*key, *value])),
            Expr::Unary(_, value) | Expr::Attribute(value, _) => left.push(*value),
            Expr::Binary(_, a, b) | Expr::And(a, b) | Expr::Or(a, b) | Expr::Item(a, b) => left.extend([*a, *b]),
            Expr::Compare(first, others) => {
                left.push(*first);
                left.extend(others.iter().map(|(_, value)| *value));
            }
            Expr::Slice(value, parts) => {
                left.push(*value);
                left.extend(parts.iter().flatten());
            }
            Expr::Call(value, arguments) | Expr::Test(value, _, arguments) => {
                left.push(*value);
                left.extend(arguments.values());
            }
            Expr::Filter(value, _, arguments) => {
                left.extend(*value);
                left.extend(arguments.values());
            }
            Expr::If(test, then, otherwise) => {
                left.extend([*test, *then]);
                left.extend(*otherwise);
            }
        }
        left[from..].reverse();
    }
}

/// Which of these names a body reads before it sets them, as Jinja looks for them: in the order of the source, also
/// inside of other blocks.
pub(super) fn read_names(body: &[Stmt], ast: &Ast, wanted: &[Option<NameId>]) -> Vec<bool> {
    let mut search = Search { ast, wanted: wanted.to_vec(), found: vec![false; wanted.len()] };
    search.body(body);
    search.found
}

struct Search<'a> {
    ast: &'a Ast,
    /// Those that were not set yet.
    wanted: Vec<Option<NameId>>,
    found: Vec<bool>,
}

impl Search<'_> {
    fn set(&mut self, name: NameId) {
        for wanted in &mut self.wanted {
            if *wanted == Some(name) {
                *wanted = None;
            }
        }
    }

    fn value(&mut self, value: ExprId) {
        let (ast, wanted, found) = (self.ast, &self.wanted, &mut self.found);
        names(value, ast, &mut |name| {
            for (wanted, found) in wanted.iter().zip(found.iter_mut()) {
                *found |= *wanted == Some(name);
            }
        });
    }

    fn target(&mut self, target: &Target) {
        target.names(&mut |name| self.set(name));
    }

    fn signature(&mut self, signature: &Signature) {
        signature.names.iter().for_each(|name| self.set(*name));
        signature.defaults.iter().for_each(|default| self.value(*default));
    }

    fn body(&mut self, body: &[Stmt]) {
        for statement in body {
            match &statement.kind {
                Kind::Data(..) | Kind::Break | Kind::Continue => {}
                Kind::Print(value) => self.value(*value),
                Kind::Set(target, value) => {
                    self.target(target);
                    self.value(*value);
                }
                Kind::SetBlock(target, filter, body) => {
                    self.target(target);
                    filter.iter().for_each(|filter| self.value(*filter));
                    self.body(body);
                }
                Kind::If(arms, otherwise) => {
                    for (test, body) in arms {
                        self.value(*test);
                        self.body(body);
                    }
                    self.body(otherwise);
                }
                Kind::For(looped) => {
                    let For { target, of, test, body, otherwise, .. } = &**looped;
                    self.target(target);
                    self.value(*of);
                    self.body(body);
                    self.body(otherwise);
                    test.iter().for_each(|test| self.value(*test));
                }
                Kind::Macro(_, signature, body) => {
                    self.signature(signature);
                    self.body(body);
                }
                Kind::Call(signature, call, body) => {
                    self.value(*call);
                    self.signature(signature);
                    self.body(body);
                }
                Kind::Filter(filter, body) => {
                    self.body(body);
                    self.value(*filter);
                }
                Kind::With(values, body) => {
                    values.iter().for_each(|(target, _)| self.target(target));
                    values.iter().for_each(|(_, value)| self.value(*value));
                    self.body(body);
                }
                Kind::Generation(body) => self.body(body),
            }
        }
    }
}
