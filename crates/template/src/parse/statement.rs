//! Statements.

use super::Parser;
use super::ast::{Expr, For, Kind, NameId, Signature, Stmt, Target};
use super::lexer::Tok;
use crate::error::Error;
use std::collections::HashSet;

type Result<T> = std::result::Result<T, Error>;

/// Tags of Jinja that chat templates have no use for: they load files, or change values.
const REFUSED: [&str; 9] = ["block", "include", "import", "from", "extends", "autoescape", "trans", "do", "debug"];

impl Parser<'_> {
    /// Text and tags, up to a tag whose first word is one of `ends`, which stays; without ends, to the end of the
    /// source.
    pub(super) fn body(&mut self, ends: &[&str]) -> Result<Vec<Stmt>> {
        self.deeper(|p| {
            let mut body = Vec::new();
            loop {
                let at = p.place();
                match *p.tok() {
                    Tok::Data(end) => {
                        p.skip();
                        body.push(Stmt { kind: Kind::Data(at, end), at });
                    }
                    Tok::PrintBegin => {
                        p.skip();
                        let value = p.tuple(true)?;
                        if *p.tok() != Tok::PrintEnd {
                            return Err(p.unexpected("'}}'"));
                        }
                        p.skip();
                        body.push(Stmt { kind: Kind::Print(value), at: p.ast.at(value) });
                    }
                    Tok::BlockBegin => {
                        p.skip();
                        if matches!(p.tok(), Tok::Name(name) if ends.contains(name)) {
                            return Ok(body);
                        }
                        let at = p.place();
                        p.statement(at, &mut body)?;
                        p.block_end()?;
                    }
                    Tok::End if ends.is_empty() => return Ok(body),
                    _ => {
                        let open = p.open.last().copied().unwrap_or_default();
                        let ends: Vec<String> = ends.iter().map(|end| format!("'{end}'")).collect();
                        let message =
                            format!("unexpected end of the template: '{open}' is open, expected {}", ends.join(" or "));
                        return p.fail(message, at);
                    }
                }
            }
        })
    }

    fn block_end(&mut self) -> Result<()> {
        if *self.tok() != Tok::BlockEnd {
            return Err(self.unexpected("'%}'"));
        }
        self.skip();
        Ok(())
    }

    /// Parses the rest of an opening tag and its body, up to the word of the end tag.
    fn block(&mut self, word: &'static str, ends: &[&'static str]) -> Result<(Vec<Stmt>, &'static str)> {
        self.skip_if(":");
        self.block_end()?;
        self.open.push(word);
        let body = self.body(ends)?;
        self.open.pop();
        let found = ends.iter().find(|end| self.is_word(end)).copied().unwrap_or_default();
        self.skip();
        Ok((body, found))
    }

    fn statement(&mut self, at: u32, body: &mut Vec<Stmt>) -> Result<()> {
        let Tok::Name(word) = *self.tok() else { return Err(self.unexpected("the name of a tag")) };
        self.skip();
        let kind = match word {
            "set" => self.set()?,
            "if" => self.parse_if()?,
            "for" => self.parse_for()?,
            "break" => Kind::Break,
            "continue" => Kind::Continue,
            "macro" => {
                let name = self.name()?;
                let name = self.ast.name_id(name);
                let signature = self.signature()?;
                Kind::Macro(name, signature, self.block("macro", &["endmacro"])?.0)
            }
            "call" => {
                let signature = if self.is("(") { self.signature()? } else { Signature::default() };
                let call = self.expression()?;
                if !matches!(self.ast.expr(call), Expr::Call(..)) {
                    return self.fail("expected a call", self.ast.at(call));
                }
                Kind::Call(signature, call, self.block("call", &["endcall"])?.0)
            }
            "filter" => {
                let filter = self.filters(None)?;
                Kind::Filter(filter, self.block("filter", &["endfilter"])?.0)
            }
            "with" => self.with()?,
            "generation" => Kind::Generation(self.block("generation", &["endgeneration"])?.0),
            "print" => {
                while *self.tok() != Tok::BlockEnd {
                    let value = self.expression()?;
                    body.push(Stmt { kind: Kind::Print(value), at });
                    if *self.tok() != Tok::BlockEnd {
                        self.expect(",")?;
                    }
                }
                return Ok(());
            }
            word if REFUSED.contains(&word) => {
                return self.fail(format!("tag '{word}' is not available in chat templates"), at);
            }
            word => {
                let open = self.open.last().map_or(String::new(), |open| format!("; '{open}' is open"));
                return self.fail(format!("unknown tag '{}'{open}", crate::error::shortened(word, 40)), at);
            }
        };
        body.push(Stmt { kind, at });
        Ok(())
    }

    fn set(&mut self) -> Result<Kind> {
        let target = self.target(true)?;
        if self.skip_if("=") {
            let value = self.tuple(true)?;
            return Ok(Kind::Set(target, value));
        }
        let filter = if self.skip_if("|") { Some(self.filters(None)?) } else { None };
        Ok(Kind::SetBlock(target, filter, self.block("set", &["endset"])?.0))
    }

    /// Parses one or more filters of the output of a block.
    fn filters(&mut self, value: Option<super::ast::ExprId>) -> Result<super::ast::ExprId> {
        let mut filter = self.filter(value)?;
        while self.skip_if("|") {
            filter = self.filter(Some(filter))?;
        }
        Ok(filter)
    }

    fn parse_if(&mut self) -> Result<Kind> {
        let mut arms = Vec::new();
        loop {
            let test = self.tuple(false)?;
            let (body, end) = self.block("if", &["elif", "else", "endif"])?;
            arms.push((test, body));
            match end {
                "elif" => {}
                "else" => return Ok(Kind::If(arms, self.block("if", &["endif"])?.0)),
                _ => return Ok(Kind::If(arms, Vec::new())),
            }
        }
    }

    fn parse_for(&mut self) -> Result<Kind> {
        self.loops += 1;
        let target = self.target(false)?;
        if !self.skip_word("in") {
            return Err(self.unexpected("'in'"));
        }
        let of = self.tuple(false)?;
        let test = if self.skip_word("if") { Some(self.expression()?) } else { None };
        let recursive = self.skip_word("recursive");
        let (body, end) = self.block("for", &["endfor", "else"])?;
        let otherwise = if end == "else" { self.block("for", &["endfor"])?.0 } else { Vec::new() };
        self.loops -= 1;
        Ok(Kind::For(Box::new(For { target, of, test, recursive, body, otherwise })))
    }

    fn with(&mut self) -> Result<Kind> {
        let mut values = Vec::new();
        while *self.tok() != Tok::BlockEnd {
            if !values.is_empty() {
                self.expect(",")?;
            }
            let loops = std::mem::take(&mut self.loops);
            let target = self.target(false)?;
            self.loops = loops;
            self.expect("=")?;
            values.push((target, self.expression()?));
        }
        Ok(Kind::With(values, self.block("with", &["endwith"])?.0))
    }

    fn signature(&mut self) -> Result<Signature> {
        let mut signature = Signature::default();
        let mut names = HashSet::new();
        self.expect("(")?;
        while !self.is(")") {
            if !signature.names.is_empty() {
                self.expect(",")?;
            }
            let at = self.place();
            let name = self.plain_name()?;
            if !names.insert(name) {
                return self.fail("two parameters of one name", at);
            }
            if self.skip_if("=") {
                signature.defaults.push(self.expression()?);
            } else if !signature.defaults.is_empty() {
                return self.fail("a parameter without default follows one with default", at);
            }
            signature.names.push(name);
        }
        self.skip();
        Ok(signature)
    }

    /// A name that can be assigned to.
    fn plain_name(&mut self) -> Result<NameId> {
        let at = self.place();
        match self.name()? {
            name @ ("true" | "false" | "none" | "True" | "False" | "None") => {
                self.fail(format!("can't assign to '{name}'"), at)
            }
            name => Ok(self.ast.name_id(name)),
        }
    }

    /// Parses the target of an assignment: names separated by commas, or attributes of namespaces if they are allowed.
    fn target(&mut self, namespaces: bool) -> Result<Target> {
        let mut targets = Vec::new();
        let mut is_tuple = false;
        while !self.ends_tuple() {
            targets.push(self.deeper(|p| p.single_target(namespaces))?);
            if !self.skip_if(",") {
                break;
            }
            is_tuple = true;
        }
        match targets.pop() {
            None => Err(self.unexpected("a name")),
            Some(only) if !is_tuple => Ok(only),
            Some(last) => {
                targets.push(last);
                Ok(Target::Tuple(targets))
            }
        }
    }

    fn single_target(&mut self, namespaces: bool) -> Result<Target> {
        let at = self.place();
        if self.skip_if("(") {
            if self.skip_if(")") {
                return Ok(Target::Tuple(Vec::new()));
            }
            let inner = self.target(false)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let name = self.plain_name()?;
        if namespaces && self.skip_if(".") {
            let attribute = self.name()?;
            return Ok(Target::Attribute(name, self.ast.name_id(attribute)));
        }
        if self.loops > 0 && self.ast.name(name) == "loop" {
            return self.fail("can't assign to 'loop' inside of a loop", at);
        }
        Ok(Target::Name(name))
    }
}
