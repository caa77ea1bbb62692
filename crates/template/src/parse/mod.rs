//! Source to tree.

pub(crate) mod ast;
mod expression;
mod lexer;
mod literal;
mod statement;

use crate::error::{Error, Fail, Kind};
use ast::{Ast, ExprId, Stmt};
use lexer::{Lexer, Tok, Token};

/// The largest nesting depth of expressions and statements, so that functions may recurse over the tree.
pub(crate) const DEEPEST: usize = 100;

/// The weight of a level of brackets or blocks, relative to the right side of an operator.
const LEVEL: usize = 4;

/// A source and its tree.
pub(crate) struct Parsed {
    pub ast: Ast,
    pub body: Vec<Stmt>,
}

/// The source as the lexer wants it: line ends are LF, and the last one goes.
pub(crate) fn normalized(source: &str) -> String {
    let mut text = source.replace("\r\n", "\n").replace('\r', "\n");
    if text.ends_with('\n') {
        text.pop();
    }
    text
}

/// Parses a normalized source.
pub(crate) fn parse(source: &str) -> Result<Parsed, Error> {
    let tokens = Lexer::new(source).tokens()?;
    let mut parser = Parser { source, tokens, at: 0, ast: Ast::default(), depth: 0, loops: 0, open: Vec::new() };
    let body = parser.body(&[])?;
    Ok(Parsed { ast: parser.ast, body })
}

pub(crate) struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token<'s>>,
    at: usize,
    ast: Ast,
    depth: usize,
    /// Loops around, in which nothing may be called `loop`.
    loops: usize,
    /// The blocks that are open, for messages.
    open: Vec<&'static str>,
}

impl<'s> Parser<'s> {
    fn token(&self) -> &Token<'s> {
        // The last token is the end, and it stays.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn tok(&self) -> &Tok<'s> {
        &self.token().tok
    }

    fn look(&self) -> &Tok<'s> {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].tok
    }

    fn place(&self) -> u32 {
        self.token().at
    }

    fn skip(&mut self) {
        self.at += 1;
    }

    /// Takes an operator or a sign, if it is next.
    fn skip_if(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        self.at += usize::from(found);
        found
    }

    /// Takes a word, if it is next.
    fn skip_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.tok(), Tok::Sign(found) if *found == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.tok(), Tok::Name(found) if *found == word)
    }

    fn expect(&mut self, sign: &str) -> Result<(), Error> {
        if self.skip_if(sign) { Ok(()) } else { Err(self.unexpected(&format!("'{sign}'"))) }
    }

    fn name(&mut self) -> Result<&'s str, Error> {
        match *self.tok() {
            Tok::Name(name) => {
                self.skip();
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn fail<T>(&self, message: impl Into<String>, at: u32) -> Result<T, Error> {
        Err(Error::new(Fail { kind: Kind::Syntax, message: message.into() }, self.source, at as usize))
    }

    fn unexpected(&self, expected: &str) -> Error {
        let found = self.tok().shown();
        let message = format!("expected {expected}, found {found}");
        Error::new(Fail { kind: Kind::Syntax, message }, self.source, self.place() as usize)
    }

    /// One level further in, for as long as `parse` takes.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.further(LEVEL)?;
        let parsed = parse(self);
        self.depth -= LEVEL;
        parsed
    }

    fn further(&mut self, levels: usize) -> Result<(), Error> {
        if self.depth + levels > LEVEL * DEEPEST {
            return self.fail(format!("blocks and expressions nested more than {DEEPEST} deep"), self.place());
        }
        self.depth += levels;
        Ok(())
    }

    fn expr(&mut self, kind: ast::Expr, at: u32) -> ExprId {
        self.ast.push(kind, at)
    }
}
