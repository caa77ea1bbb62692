//! Statements.

use super::scope::{Scopes, read_names};
use super::{Compiler, Loop};
use crate::error::Error;
use crate::parse::ast::{Binary, Expr, For, Kind, Literal, Signature, Stmt, Target};
use crate::program::{Function, Op};

type Result<T> = std::result::Result<T, Error>;

impl Compiler<'_> {
    pub(super) fn body(&mut self, body: &[Stmt]) -> Result<()> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt) -> Result<()> {
        let at = statement.at;
        match &statement.kind {
            Kind::Data(start, end) => {
                self.emit(Op::Data(*start, *end), at);
            }
            Kind::Print(value) => {
                self.expr(*value)?;
                let is_sum = matches!(self.ast.expr(*value), Expr::Binary(Binary::Add, ..));
                match is_sum.then(|| self.take_sum()).flatten() {
                    Some((n, at)) => self.emit(Op::PrintSum(n), at),
                    None => self.emit(Op::Print, at),
                };
            }
            Kind::Set(target, value) => {
                self.check_namespaces(target, at)?;
                self.expr(*value)?;
                self.assign(target, at)?;
            }
            Kind::SetBlock(target, filter, body) => {
                self.scoped(at, |c| {
                    c.scopes.see(body, c.ast);
                    filter.iter().for_each(|filter| c.scopes.see_value(*filter, c.ast));
                    c.starts(at);
                    c.captured(body, at)?;
                    filter.map_or(Ok(()), |filter| c.expr(filter))
                })?;
                self.assign(target, at)?;
            }
            Kind::If(arms, otherwise) => self.if_arms(arms, otherwise, at)?,
            Kind::For(looped) => self.for_loop(looped, at)?,
            Kind::Break | Kind::Continue => self.leave_loop(matches!(statement.kind, Kind::Break), at)?,
            Kind::Macro(name, signature, body) => {
                let label = self.ast.name(*name).to_string();
                let function = self.macro_body(Some(label), signature, body, at)?;
                self.emit(Op::Macro(function), at);
                self.assign(&Target::Name(*name), at)?;
            }
            Kind::Call(signature, call, body) => {
                let function = self.macro_body(None, signature, body, at)?;
                if let Expr::Call(callee, arguments) = self.ast.expr(*call) {
                    match self.ast.expr(*callee) {
                        Expr::Attribute(value, _) => self.expr(*value)?,
                        _ => self.expr(*callee)?,
                    }
                    self.call(*callee, arguments, Some(function), at)?;
                }
                self.emit(Op::Text, at);
                self.emit(Op::Print, at);
            }
            Kind::Filter(filter, body) => {
                self.scoped(at, |c| {
                    c.scopes.see(body, c.ast);
                    c.scopes.see_value(*filter, c.ast);
                    c.starts(at);
                    c.captured(body, at)?;
                    c.expr(*filter)
                })?;
                self.emit(Op::Text, at);
                self.emit(Op::Print, at);
            }
            Kind::With(values, body) => {
                self.scoped(at, |c| {
                    for (target, _) in values {
                        c.give(target);
                    }
                    c.scopes.see(body, c.ast);
                    c.starts(at);
                    for (target, value) in values {
                        // The values are evaluated in the outer scope.
                        c.scopes.set_aside();
                        c.expr(*value)?;
                        c.scopes.take_back();
                        c.assign(target, at)?;
                    }
                    c.body(body)
                })?;
            }
            Kind::Generation(body) => {
                let function = self.macro_body(None, &Signature::default(), body, at)?;
                self.emit(Op::Generation(function), at);
            }
        }
        Ok(())
    }

    /// A scope of its own, in which filters have to exist.
    fn scoped(&mut self, at: u32, make: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let soft = std::mem::take(&mut self.soft);
        self.scopes.enter();
        make(self)?;
        self.leave(at);
        self.soft = soft;
        Ok(())
    }

    /// Emits code that captures the output of a body as a value.
    fn captured(&mut self, body: &[Stmt], at: u32) -> Result<()> {
        self.emit(Op::Capture, at);
        self.top().captures += 1;
        self.body(body)?;
        self.top().captures -= 1;
        self.emit(Op::Captured, at);
        Ok(())
    }

    /// The names of a target get their values from outside of the scope.
    fn give(&mut self, target: &Target) {
        target.names(&mut |name| {
            self.scopes.give(name);
        });
    }

    fn check_namespaces(&mut self, target: &Target, at: u32) -> Result<()> {
        let mut namespaces = Vec::new();
        target.namespaces(&mut |name| namespaces.push(name));
        for name in namespaces {
            match self.scopes.var(name) {
                Some(var) => self.emit(Op::CheckNamespace(var), at),
                None => return self.fail(format!("'{}' can't be used here", self.ast.name(name)), at),
            };
        }
        Ok(())
    }

    /// Takes the value on top.
    fn assign(&mut self, target: &Target, at: u32) -> Result<()> {
        match target {
            Target::Name(name) => match self.scopes.var(*name) {
                Some(var) if var.up == 0 => self.emit(Op::Store(var.slot), at),
                _ => return self.fail(format!("can't assign to '{}' here", self.ast.name(*name)), at),
            },
            Target::Attribute(namespace, name) => {
                let name = self.name(*name);
                match self.scopes.var(*namespace) {
                    Some(var) => self.emit(Op::SetAttribute(var, name), at),
                    None => return self.fail("can't assign to this attribute here", at),
                }
            }
            Target::Tuple(targets) => {
                self.emit(Op::Unpack(targets.len() as u32), at);
                return targets.iter().try_for_each(|target| self.assign(target, at));
            }
        };
        Ok(())
    }

    fn if_arms(&mut self, arms: &[(crate::parse::ast::ExprId, Vec<Stmt>)], otherwise: &[Stmt], at: u32) -> Result<()> {
        let soft = std::mem::replace(&mut self.soft, true);
        let mut ends = Vec::new();
        for (i, (test, body)) in arms.iter().enumerate() {
            self.expr(*test)?;
            let next = self.emit(Op::JumpIfFalse(0), at);
            self.body(body)?;
            if i + 1 < arms.len() || !otherwise.is_empty() {
                ends.push(self.emit(Op::Jump(0), at));
            }
            self.patch(next);
        }
        self.body(otherwise)?;
        ends.into_iter().for_each(|end| self.patch(end));
        self.soft = soft;
        Ok(())
    }

    fn leave_loop(&mut self, is_break: bool, at: u32) -> Result<()> {
        let open = self.top();
        let captures = open.captures;
        let Some(&Loop { next, captures: outer, .. }) = open.loops.last() else {
            let word = if is_break { "break" } else { "continue" };
            return self.fail(format!("'{word}' outside of a loop"), at);
        };
        for _ in outer..captures {
            self.emit(Op::DropCapture, at);
        }
        let jump = self.emit(Op::Jump(next), at);
        if let Some(looped) = self.top().loops.last_mut().filter(|_| is_break) {
            looped.breaks.push(jump);
        }
        Ok(())
    }

    fn for_loop(&mut self, looped: &For, at: u32) -> Result<()> {
        if !looped.recursive {
            self.expr(looped.of)?;
            return self.rounds(looped, at);
        }
        let function = self.function(at, |c, _| {
            let values = c.scopes.unnamed();
            debug_assert_eq!(values, 0, "a call of a loop puts its values there");
            let var = Scopes::own(values);
            let name = c.constant(Literal::Text("loop".to_string()));
            c.emit(Op::Load(var, name), at);
            c.rounds(looped, at)
        })?;
        self.expr(looped.of)?;
        self.emit(Op::Recurse(function), at);
        self.emit(Op::Print, at);
        Ok(())
    }

    /// The rounds of a loop over the value on top.
    fn rounds(&mut self, looped: &For, at: u32) -> Result<()> {
        let For { target, test, recursive, body, otherwise, .. } = looped;
        let soft = std::mem::take(&mut self.soft);
        let loop_name = self.ast.known_name("loop");
        let uses_loop = *recursive || read_names(body, self.ast, &[loop_name])[0];
        // Set where a round comes to its end: Jinja's `else` is for loops without one, also where `continue` left all.
        let fruitless = self.scopes.unnamed();
        if !otherwise.is_empty() {
            self.store_bool(true, fruitless, at);
        }

        self.scopes.enter();
        let slot = match loop_name.filter(|_| uses_loop) {
            Some(name) => Some(self.scopes.give(name)),
            None if *recursive => Some(self.scopes.unnamed()),
            None => None,
        };
        self.give(target);
        self.scopes.see(body, self.ast);
        let begin = self.emit(Op::For(slot, *recursive), at);
        let next = self.here();
        let end = match test {
            None => self.emit(Op::Next(0), at),
            Some(test) => {
                let end = self.emit(Op::NextRaw(0, 0), at);
                let code = self.here();
                self.program.ops[begin as usize] = Op::ForTest(slot, *recursive, code);
                self.condition(target, *test, at)?;
                self.emit(Op::Tested(next), at);
                let body = self.here();
                if let Op::NextRaw(_, tested) = &mut self.program.ops[end as usize] {
                    *tested = body;
                }
                if slot.is_some() {
                    self.emit(Op::Turn, at);
                }
                end
            }
        };
        self.assign(target, at)?;
        self.starts(at);
        let captures = self.top().captures;
        self.top().loops.push(Loop { next, captures, breaks: Vec::new() });
        self.body(body)?;
        if !otherwise.is_empty() {
            self.store_bool(false, fruitless, at);
        }
        self.emit(Op::Jump(next), at);
        self.patch(end);
        let breaks = self.top().loops.pop().map_or(Vec::new(), |looped| looped.breaks);
        breaks.into_iter().for_each(|jump| self.patch(jump));
        self.emit(Op::EndFor, at);
        self.leave(at);
        if !otherwise.is_empty() {
            let var = Scopes::own(fruitless);
            let name = self.constant(Literal::None);
            self.emit(Op::Load(var, name), at);
            let over = self.emit(Op::JumpIfFalse(0), at);
            self.scoped(at, |c| {
                c.scopes.see(otherwise, c.ast);
                c.starts(at);
                c.body(otherwise)
            })?;
            self.patch(over);
        }
        self.soft = soft;
        Ok(())
    }

    fn store_bool(&mut self, value: bool, slot: u32, at: u32) {
        let constant = self.constant(Literal::Bool(value));
        self.emit(Op::Const(constant), at);
        self.emit(Op::Store(slot), at);
    }

    /// The condition of a loop on the value on top. It stands in a scope of the loop's surroundings.
    fn condition(&mut self, target: &Target, test: crate::parse::ast::ExprId, at: u32) -> Result<()> {
        self.scopes.set_aside();
        self.scopes.enter();
        self.give(target);
        self.scopes.see_value(test, self.ast);
        self.assign(target, at)?;
        self.starts(at);
        self.expr(test)?;
        self.scopes.leave();
        self.scopes.take_back();
        Ok(())
    }

    /// A macro, the body of a call block or a generation as a function.
    fn macro_body(&mut self, name: Option<String>, signature: &Signature, body: &[Stmt], at: u32) -> Result<u32> {
        let special = ["caller", "kwargs", "varargs"].map(|name| self.ast.known_name(name));
        let reads = read_names(body, self.ast, &special);
        let explicit = |i: usize| signature.names.iter().position(|name| Some(*name) == special[i]);
        if reads[0] && explicit(0).is_some_and(|i| signature.default_of(i).is_none()) {
            return self.fail("the parameter 'caller' of a macro needs a default", at);
        }
        self.function(at, |c, function: &mut Function| {
            function.name = name;
            let extra = |c: &mut Self, i: usize| {
                let name = special[i].filter(|_| reads[i] && explicit(i).is_none())?;
                Some(c.scopes.give(name))
            };
            (function.caller, function.kwargs, function.varargs) = (extra(c, 0), extra(c, 1), extra(c, 2));
            c.scopes.see_signature(signature, c.ast);
            c.scopes.see(body, c.ast);
            c.starts(at);
            for (i, name) in signature.names.iter().enumerate() {
                let label = c.name(*name);
                let Some(var) = c.scopes.var(*name) else { continue };
                function.parameters.push((var.slot, label));
                let given = c.emit(Op::JumpIfSet(var.slot, 0), at);
                match signature.default_of(i) {
                    Some(default) => {
                        c.expr(default)?;
                        c.emit(Op::Store(var.slot), at);
                    }
                    None => drop(c.emit(Op::NotGiven(var.slot, label), at)),
                }
                c.patch(given);
            }
            c.body(body)
        })
    }
}
