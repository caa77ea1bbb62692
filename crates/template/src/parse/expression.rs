//! Expressions, by Jinja's precedence: `if`, `or`, `and`, `not`, comparisons, `+ -`, `~`, `* / // %`, `**`, signs,
//! filters and tests. Chains are read in loops; only what stands in brackets, or behind `else` and a sign of two sides,
//! recurses.

use super::Parser;
use super::ast::{Arguments, Binary, Comparison, Expr, ExprId, Literal, Unary};
use super::lexer::Tok;
use crate::error::Error;
use std::collections::HashSet;

type Result<T> = std::result::Result<T, Error>;

/// Levels of operators with two sides, from the weakest.
const OR: u8 = 0;
const AND: u8 = 1;
const NOT: u8 = 2;
const COMPARE: u8 = 3;
const SUM: u8 = 4;
const CONCAT: u8 = 5;
const PRODUCT: u8 = 6;
const POWER: u8 = 7;

impl Parser<'_> {
    /// An expression, with an inline `if`.
    pub(super) fn expression(&mut self) -> Result<ExprId> {
        self.deeper(|p| {
            let at = p.place();
            let mut value = p.binary(OR)?;
            let mut ifs = 0;
            while p.skip_word("if") {
                // Each has the one before it inside.
                ifs += 1;
                if ifs > super::DEEPEST {
                    return p.fail("too many inline 'if's in a row", at);
                }
                let test = p.binary(OR)?;
                let otherwise = if p.skip_word("else") { Some(p.expression()?) } else { None };
                value = p.expr(Expr::If(test, value, otherwise), at);
            }
            Ok(value)
        })
    }

    /// Expressions with commas between them are a tuple.
    pub(super) fn tuple(&mut self, inline_if: bool) -> Result<ExprId> {
        self.tuple_of(inline_if, false)
    }

    fn tuple_of(&mut self, inline_if: bool, parentheses: bool) -> Result<ExprId> {
        let at = self.place();
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            if self.ends_tuple() {
                break;
            }
            items.push(if inline_if { self.expression()? } else { self.deeper(|p| p.binary(OR))? });
            if !self.skip_if(",") {
                break;
            }
            is_tuple = true;
        }
        match items.first() {
            Some(&only) if !is_tuple => Ok(only),
            None if !parentheses => Err(self.unexpected("an expression")),
            _ => Ok(self.expr(Expr::Tuple(items), at)),
        }
    }

    pub(super) fn ends_tuple(&self) -> bool {
        matches!(self.tok(), Tok::PrintEnd | Tok::BlockEnd | Tok::Sign(")"))
    }

    /// Operators of this level and stronger ones.
    fn binary(&mut self, min: u8) -> Result<ExprId> {
        let at = self.place();
        let mut nots = 0;
        while min <= NOT && self.skip_word("not") {
            nots += 1;
        }
        let mut left = if nots > 0 { self.inner(COMPARE)? } else { self.unary()? };
        // Two are a truth value, as four are.
        for _ in 0..if nots > 2 { 2 - nots % 2 } else { nots } {
            left = self.expr(Expr::Unary(Unary::Not, left), at);
        }
        loop {
            let at = self.place();
            let expr = match self.tok() {
                Tok::Name("or") if min == OR => {
                    self.skip();
                    Expr::Or(left, self.inner(AND)?)
                }
                Tok::Name("and") if min <= AND => {
                    self.skip();
                    Expr::And(left, self.inner(NOT)?)
                }
                Tok::Sign("~") if min <= CONCAT => {
                    let mut all = vec![left];
                    while self.skip_if("~") {
                        all.push(self.inner(PRODUCT)?);
                    }
                    Expr::Concat(all)
                }
                _ => match self.operator() {
                    Some((level, operator)) if min <= level => {
                        self.skip();
                        Expr::Binary(operator, left, self.inner(level + 1)?)
                    }
                    _ => {
                        let mut others = Vec::new();
                        while let Some(comparison) = if min <= COMPARE { self.comparison() } else { None } {
                            others.push((comparison, self.inner(SUM)?));
                        }
                        if others.is_empty() {
                            return Ok(left);
                        }
                        Expr::Compare(left, others)
                    }
                },
            };
            left = self.expr(expr, at);
        }
    }

    /// The right side of an operator.
    fn inner(&mut self, min: u8) -> Result<ExprId> {
        self.further(1)?;
        let right = self.binary(min)?;
        self.depth -= 1;
        Ok(right)
    }

    fn operator(&self) -> Option<(u8, Binary)> {
        let Tok::Sign(sign) = self.tok() else { return None };
        Some(match *sign {
            "+" => (SUM, Binary::Add),
            "-" => (SUM, Binary::Sub),
            "*" => (PRODUCT, Binary::Mul),
            "/" => (PRODUCT, Binary::Div),
            "//" => (PRODUCT, Binary::FloorDiv),
            "%" => (PRODUCT, Binary::Mod),
            "**" => (POWER, Binary::Pow),
            _ => return None,
        })
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let found = match self.tok() {
            Tok::Sign("==") => Comparison::Equal,
            Tok::Sign("!=") => Comparison::NotEqual,
            Tok::Sign("<") => Comparison::Less,
            Tok::Sign("<=") => Comparison::LessEqual,
            Tok::Sign(">") => Comparison::Greater,
            Tok::Sign(">=") => Comparison::GreaterEqual,
            Tok::Name("in") => Comparison::In,
            Tok::Name("not") if *self.look() == Tok::Name("in") => {
                self.skip();
                Comparison::NotIn
            }
            _ => return None,
        };
        self.skip();
        Some(found)
    }

    /// Parses signs, a value with its suffixes, and the filters and tests of the result.
    fn unary(&mut self) -> Result<ExprId> {
        let mut signs = Vec::new();
        while self.is("-") || self.is("+") {
            signs.push((if self.is("-") { Unary::Minus } else { Unary::Plus }, self.place()));
            self.skip();
        }
        let mut value = self.primary()?;
        value = self.postfix(value)?;
        for (sign, at) in signs.into_iter().rev() {
            value = self.expr(Expr::Unary(sign, value), at);
            // Behind the value nothing of this kind is left.
        }
        loop {
            let at = self.place();
            value = match self.tok() {
                Tok::Sign("|") => {
                    self.skip();
                    self.filter(Some(value))?
                }
                Tok::Name("is") => self.test(value)?,
                Tok::Sign("(") => {
                    let arguments = self.arguments()?;
                    self.expr(Expr::Call(value, Box::new(arguments)), at)
                }
                _ => return Ok(value),
            }
        }
    }

    fn primary(&mut self) -> Result<ExprId> {
        let at = self.place();
        let literal = match self.tok().clone() {
            Tok::Name("true" | "True") => Literal::Bool(true),
            Tok::Name("false" | "False") => Literal::Bool(false),
            Tok::Name("none" | "None") => Literal::None,
            Tok::Name(name) => {
                self.skip();
                let name = self.ast.name_id(name);
                return Ok(self.expr(Expr::Name(name), at));
            }
            Tok::Int(n) => Literal::Int(n),
            Tok::Float(n) => Literal::Float(n),
            Tok::Text(mut text) => {
                self.skip();
                while let Tok::Text(more) = self.tok() {
                    text.push_str(more);
                    self.at += 1;
                }
                return Ok(self.expr(Expr::Literal(Literal::Text(text)), at));
            }
            Tok::Sign("(") => {
                self.skip();
                let inner = self.deeper(|p| p.tuple_of(true, true))?;
                self.expect(")")?;
                return Ok(inner);
            }
            Tok::Sign("[") => return self.list(),
            Tok::Sign("{") => return self.dict(),
            _ => return Err(self.unexpected("an expression")),
        };
        self.skip();
        Ok(self.expr(Expr::Literal(literal), at))
    }

    fn list(&mut self) -> Result<ExprId> {
        let at = self.place();
        self.skip();
        let mut items = Vec::new();
        while !self.is("]") {
            items.push(self.expression()?);
            if !self.is("]") {
                self.expect(",")?;
            }
        }
        self.skip();
        Ok(self.expr(Expr::List(items), at))
    }

    fn dict(&mut self) -> Result<ExprId> {
        let at = self.place();
        self.skip();
        let mut pairs = Vec::new();
        while !self.is("}") {
            let key = self.expression()?;
            self.expect(":")?;
            pairs.push((key, self.expression()?));
            if !self.is("}") {
                self.expect(",")?;
            }
        }
        self.skip();
        Ok(self.expr(Expr::Dict(pairs), at))
    }

    /// Attributes, subscripts and calls.
    fn postfix(&mut self, mut value: ExprId) -> Result<ExprId> {
        loop {
            let at = self.place();
            value = match self.tok() {
                Tok::Sign(".") => {
                    self.skip();
                    match *self.tok() {
                        Tok::Name(name) => {
                            self.skip();
                            let name = self.ast.name_id(name);
                            self.expr(Expr::Attribute(value, name), at)
                        }
                        Tok::Int(n) => {
                            let number = self.expr(Expr::Literal(Literal::Int(n)), self.place());
                            self.skip();
                            self.expr(Expr::Item(value, number), at)
                        }
                        _ => return Err(self.unexpected("a name or a number")),
                    }
                }
                Tok::Sign("[") => self.subscript(value)?,
                Tok::Sign("(") => {
                    let arguments = self.arguments()?;
                    self.expr(Expr::Call(value, Box::new(arguments)), at)
                }
                _ => return Ok(value),
            }
        }
    }

    fn subscript(&mut self, value: ExprId) -> Result<ExprId> {
        let at = self.place();
        self.skip();
        let mut keys = Vec::new();
        let mut slice = None;
        while !self.is("]") {
            if !keys.is_empty() {
                self.expect(",")?;
            }
            let mut parts = [None; 3];
            let mut colons = 0;
            while !self.is("]") && !self.is(",") {
                if self.is(":") && colons < 2 {
                    self.skip();
                    colons += 1;
                } else if parts[colons].is_none() {
                    parts[colons] = Some(self.expression()?);
                } else {
                    return Err(self.unexpected("']'"));
                }
            }
            keys.push(match (colons, parts[0]) {
                (0, Some(key)) => key,
                (0, None) => return Err(self.unexpected("an expression")),
                _ => {
                    slice = Some(parts);
                    self.expr(Expr::BadSlice, at)
                }
            });
        }
        self.skip();
        Ok(match (&keys[..], slice) {
            ([_], Some(parts)) => self.expr(Expr::Slice(value, parts), at),
            ([key], None) => {
                let key = *key;
                self.expr(Expr::Item(value, key), at)
            }
            _ => {
                let key = self.expr(Expr::Tuple(keys), at);
                self.expr(Expr::Item(value, key), at)
            }
        })
    }

    /// Parses the arguments in parentheses after a function, a filter or a test.
    pub(super) fn arguments(&mut self) -> Result<Arguments> {
        self.deeper(|p| {
            let at = p.place();
            p.expect("(")?;
            let mut arguments = Arguments::default();
            let mut names = HashSet::new();
            while !p.is(")") {
                let (star, double_star) = (arguments.star.is_some(), arguments.double_star.is_some());
                let allowed = if p.skip_if("*") {
                    arguments.star = Some(p.expression()?);
                    !star && !double_star
                } else if p.skip_if("**") {
                    arguments.double_star = Some(p.expression()?);
                    !double_star
                } else if let (Tok::Name(name), Tok::Sign("=")) = (p.tok().clone(), p.look()) {
                    p.at += 2;
                    let (name, value) = (p.ast.name_id(name), p.expression()?);
                    let twice = !names.insert(name);
                    arguments.named.push((name, value));
                    !double_star && !twice
                } else {
                    arguments.positional.push(p.expression()?);
                    arguments.named.is_empty() && !star && !double_star
                };
                if !allowed {
                    return p.fail("these arguments can't come in this order, or one is there twice", at);
                }
                if !p.is(")") {
                    p.expect(",")?;
                }
            }
            p.skip();
            Ok(arguments)
        })
    }

    /// A filter, behind its `|`.
    pub(super) fn filter(&mut self, value: Option<ExprId>) -> Result<ExprId> {
        let at = self.place();
        let name = self.dotted()?;
        let arguments = if self.is("(") { self.arguments()? } else { Arguments::default() };
        Ok(self.expr(Expr::Filter(value, name, Box::new(arguments)), at))
    }

    fn dotted(&mut self) -> Result<super::ast::NameId> {
        let mut name = self.name()?.to_string();
        while self.skip_if(".") {
            name.push('.');
            name.push_str(self.name()?);
        }
        Ok(self.ast.name_id(&name))
    }

    fn test(&mut self, value: ExprId) -> Result<ExprId> {
        self.skip();
        let negated = self.skip_word("not");
        let at = self.place();
        let name = self.dotted()?;
        let arguments = match self.tok() {
            Tok::Sign("(") => self.arguments()?,
            Tok::Name("else" | "or" | "and") => Arguments::default(),
            Tok::Name("is") => return self.fail("tests can't be chained with 'is'", self.place()),
            Tok::Name(_) | Tok::Text(_) | Tok::Int(_) | Tok::Float(_) | Tok::Sign("[" | "{") => {
                let argument = self.deeper(|p| {
                    let value = p.primary()?;
                    p.postfix(value)
                })?;
                Arguments { positional: vec![argument], ..Arguments::default() }
            }
            _ => Arguments::default(),
        };
        let test = self.expr(Expr::Test(value, name, Box::new(arguments)), at);
        Ok(if negated { self.expr(Expr::Unary(Unary::Not, test), at) } else { test })
    }
}
