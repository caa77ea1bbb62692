//! Expressions.

use super::Compiler;
use crate::checks;
use crate::error::Error;
use crate::filters;
use crate::parse::ast::{Arguments, Binary, Expr, ExprId, Literal, NameId, Unary};
use crate::program::{Op, Shape};

type Result<T> = std::result::Result<T, Error>;

impl Compiler<'_> {
    /// Emits code that leaves the value of an expression on the stack. The left operands of operators are visited in a
    /// loop, so that only nested expressions recurse.
    pub(super) fn expr(&mut self, id: ExprId) -> Result<()> {
        let ast = self.ast;
        let mut outer = Vec::new();
        let mut inner = Some(id);
        while let Some(id) = inner {
            outer.push(id);
            inner = match ast.expr(id) {
                Expr::Unary(_, value)
                | Expr::Attribute(value, _)
                | Expr::Item(value, _)
                | Expr::Slice(value, _)
                | Expr::Test(value, ..)
                | Expr::Binary(_, value, _)
                | Expr::And(value, _)
                | Expr::Or(value, _)
                | Expr::Compare(value, _) => Some(*value),
                Expr::Filter(value, ..) => *value,
                Expr::Call(callee, _) => match ast.expr(*callee) {
                    Expr::Attribute(value, _) => Some(*value),
                    _ => Some(*callee),
                },
                _ => None,
            };
        }
        while let Some(id) = outer.pop() {
            self.link(id)?;
        }
        Ok(())
    }

    /// Emits the operation of an expression on its left value, which is on the stack.
    fn link(&mut self, id: ExprId) -> Result<()> {
        let (ast, at) = (self.ast, self.ast.at(id));
        match ast.expr(id) {
            Expr::Literal(literal) => {
                let constant = self.constant(literal.clone());
                self.emit(Op::Const(constant), at);
            }
            Expr::Name(name) => self.load(*name, at)?,
            Expr::List(items) => {
                self.all(items)?;
                self.emit(Op::List(items.len() as u32), at);
            }
            Expr::Tuple(items) => {
                self.all(items)?;
                self.emit(Op::Tuple(items.len() as u32), at);
            }
            Expr::Concat(items) => {
                self.all(items)?;
                self.emit(Op::Concat(items.len() as u32), at);
            }
            Expr::Dict(pairs) => {
                for (key, value) in pairs {
                    self.expr(*key)?;
                    self.expr(*value)?;
                }
                self.emit(Op::Dict(pairs.len() as u32), at);
            }
            Expr::Unary(sign, _) => {
                let op = match sign {
                    Unary::Not => Op::Not,
                    Unary::Minus => Op::Minus,
                    Unary::Plus => Op::Plus,
                };
                self.emit(op, at);
            }
            Expr::Binary(Binary::Add, left, right) => self.sum(*left, *right, at)?,
            Expr::Binary(operator, _, right) => {
                self.expr(*right)?;
                self.emit(Op::Binary(*operator), at);
            }
            Expr::And(_, right) => {
                let jump = self.emit(Op::AndJump(0), at);
                self.expr(*right)?;
                self.patch(jump);
            }
            Expr::Or(_, right) => {
                let jump = self.emit(Op::OrJump(0), at);
                self.expr(*right)?;
                self.patch(jump);
            }
            Expr::Compare(_, others) => {
                let mut jumps = Vec::new();
                for (i, (comparison, right)) in others.iter().enumerate() {
                    self.expr(*right)?;
                    if i + 1 < others.len() {
                        jumps.push(self.emit(Op::CompareOrJump(*comparison, 0), at));
                    } else {
                        self.emit(Op::Compare(*comparison), at);
                    }
                }
                jumps.into_iter().for_each(|jump| self.patch(jump));
            }
            Expr::Attribute(_, name) => {
                let name = self.name(*name);
                self.emit(Op::Attribute(name), at);
            }
            Expr::Item(_, key) => {
                self.expr(*key)?;
                self.emit(Op::Item, at);
            }
            Expr::Slice(_, parts) => {
                let mut there = 0;
                for (i, part) in parts.iter().enumerate() {
                    if let Some(part) = part {
                        self.expr(*part)?;
                        there |= 1 << i;
                    }
                }
                self.emit(Op::Slice(there), at);
            }
            Expr::BadSlice => {
                let none = self.constant(Literal::None);
                self.emit(Op::Const(none), at);
                self.emit(Op::BadSlice, at);
            }
            Expr::Call(callee, arguments) => self.call(*callee, arguments, None, at)?,
            Expr::Filter(_, name, arguments) => self.filter(*name, arguments, at)?,
            Expr::Test(_, name, arguments) => {
                let shape = self.arguments(arguments, None, at)?;
                match checks::find(ast.name(*name)) {
                    Some(check) => self.emit(Op::Test(check, shape), at),
                    None => self.unknown("test", *name, shape, at)?,
                };
            }
            Expr::If(test, then, otherwise) => {
                let soft = std::mem::replace(&mut self.soft, true);
                self.expr(*test)?;
                let to_else = self.emit(Op::JumpIfFalse(0), at);
                self.expr(*then)?;
                let to_end = self.emit(Op::Jump(0), at);
                self.patch(to_else);
                self.top().depth -= 1;
                match otherwise {
                    Some(otherwise) => self.expr(*otherwise)?,
                    None => drop(self.emit(Op::NoElse, at)),
                }
                self.patch(to_end);
                self.soft = soft;
            }
        }
        Ok(())
    }

    /// Emits an addition to the value on the stack. An operand that can't fail is added to the sum on its left, and an
    /// error of the addition then has the place of that sum.
    fn sum(&mut self, left: ExprId, right: ExprId, at: u32) -> Result<()> {
        const LONGEST: u32 = 16;
        let is_sum = matches!(self.ast.expr(left), Expr::Binary(Binary::Add, ..));
        let joins = is_sum && matches!(self.ast.expr(right), Expr::Literal(_) | Expr::Name(_));
        let (n, at) = joins.then(|| self.take_sum()).flatten().unwrap_or((1, at));
        if n == LONGEST {
            self.emit(Op::Sum(n), at);
            self.expr(right)?;
            self.emit(Op::Sum(2), at);
        } else {
            self.expr(right)?;
            self.emit(Op::Sum(n + 1), at);
        }
        Ok(())
    }

    fn all(&mut self, values: &[ExprId]) -> Result<()> {
        values.iter().try_for_each(|value| self.expr(*value))
    }

    pub(super) fn load(&mut self, name: NameId, at: u32) -> Result<()> {
        let constant = self.name(name);
        match self.scopes.var(name) {
            Some(var) => self.emit(Op::Load(var, constant), at),
            None => return self.fail(format!("'{}' can't be used here", self.ast.name(name)), at),
        };
        Ok(())
    }

    /// Emits a call of the function on the stack, or of an attribute of the value on the stack.
    pub(super) fn call(&mut self, callee: ExprId, arguments: &Arguments, caller: Option<u32>, at: u32) -> Result<()> {
        let shape = self.arguments(arguments, caller, at)?;
        let op = match self.ast.expr(callee) {
            Expr::Attribute(_, name) => Op::CallMethod(self.name(*name), shape),
            _ => Op::Call(shape),
        };
        self.emit(op, at);
        Ok(())
    }

    fn filter(&mut self, name: NameId, arguments: &Arguments, at: u32) -> Result<()> {
        let shape = self.arguments(arguments, None, at)?;
        match filters::find(self.ast.name(name)) {
            Some(filter) => self.emit(Op::Filter(filter, shape), at),
            None => self.unknown("filter", name, shape, at)?,
        };
        Ok(())
    }

    fn unknown(&mut self, what: &str, name: NameId, shape: u32, at: u32) -> Result<u32> {
        let message = format!("no {what} named '{}'", crate::error::shortened(self.ast.name(name), 80));
        if !self.soft {
            return self.fail(message, at);
        }
        let arguments = super::effect(&Op::Call(shape), &self.program.shapes).0 - 1;
        for _ in 0..arguments {
            self.emit(Op::Pop, at);
        }
        let message = self.constant(Literal::Text(message));
        Ok(self.emit(Op::Unknown(message), at))
    }

    /// Puts arguments on the stack; gives their shape.
    fn arguments(&mut self, arguments: &Arguments, caller: Option<u32>, at: u32) -> Result<u32> {
        for value in arguments.values() {
            self.expr(value)?;
        }
        if let Some(function) = caller {
            self.emit(Op::Macro(function), at);
        }
        let names = arguments.named.iter().map(|(name, _)| self.name(*name)).collect();
        Ok(self.shape(Shape {
            positional: arguments.positional.len() as u32,
            names,
            star: arguments.star.is_some(),
            double_star: arguments.double_star.is_some(),
            caller: caller.is_some(),
        }))
    }
}
