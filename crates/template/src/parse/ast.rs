//! The tree of a template. Expressions are stored in one list and refer to each other by number, so that a chain of
//! 100,000 links is dropped without recursion.

/// The number of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExprId(u32);

/// The number of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NameId(pub u32);

/// A literal in the source.
#[derive(Clone, Debug)]
pub(crate) enum Literal {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Minus,
    Plus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn,
}

/// The arguments of a call, a filter or a test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    pub positional: Vec<ExprId>,
    pub named: Vec<(NameId, ExprId)>,
    /// `*values`
    pub star: Option<ExprId>,
    /// `**values`
    pub double_star: Option<ExprId>,
}

impl Arguments {
    /// All values, in the order in which Python computes them.
    pub(crate) fn values(&self) -> impl Iterator<Item = ExprId> + '_ {
        let named = self.named.iter().map(|(_, value)| *value);
        self.positional.iter().copied().chain(named).chain(self.star).chain(self.double_star)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Literal(Literal),
    Name(NameId),
    List(Vec<ExprId>),
    Tuple(Vec<ExprId>),
    Dict(Vec<(ExprId, ExprId)>),
    Unary(Unary, ExprId),
    Binary(Binary, ExprId, ExprId),
    And(ExprId, ExprId),
    Or(ExprId, ExprId),
    /// `a ~ b ~ c`
    Concat(Vec<ExprId>),
    /// `a < b <= c`
    Compare(ExprId, Vec<(Comparison, ExprId)>),
    Attribute(ExprId, NameId),
    Item(ExprId, ExprId),
    Slice(ExprId, [Option<ExprId>; 3]),
    /// A slice that is a part of a tuple of subscripts: no value takes one.
    BadSlice,
    Call(ExprId, Box<Arguments>),
    /// A filter; `None` stands for the captured output of the surrounding block.
    Filter(Option<ExprId>, NameId, Box<Arguments>),
    Test(ExprId, NameId, Box<Arguments>),
    /// Test, then, else.
    If(ExprId, ExprId, Option<ExprId>),
}

/// The target of an assignment.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Name(NameId),
    /// An attribute of a namespace.
    Attribute(NameId, NameId),
    Tuple(Vec<Target>),
}

impl Target {
    /// The names that get values, from left to right.
    pub(crate) fn names(&self, f: &mut dyn FnMut(NameId)) {
        match self {
            Target::Name(name) => f(*name),
            Target::Attribute(..) => {}
            Target::Tuple(targets) => targets.iter().for_each(|target| target.names(f)),
        }
    }

    /// The namespaces whose attributes get values.
    pub(crate) fn namespaces(&self, f: &mut dyn FnMut(NameId)) {
        match self {
            Target::Name(_) => {}
            Target::Attribute(namespace, _) => f(*namespace),
            Target::Tuple(targets) => targets.iter().for_each(|target| target.namespaces(f)),
        }
    }
}

/// Parameters of a macro or of the body of a call block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature {
    pub names: Vec<NameId>,
    /// Of the last parameters.
    pub defaults: Vec<ExprId>,
}

impl Signature {
    /// The default of a parameter.
    pub(crate) fn default_of(&self, i: usize) -> Option<ExprId> {
        let without = self.names.len() - self.defaults.len();
        self.defaults.get(i.checked_sub(without)?).copied()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct For {
    pub target: Target,
    pub of: ExprId,
    pub test: Option<ExprId>,
    pub recursive: bool,
    pub body: Vec<Stmt>,
    pub otherwise: Vec<Stmt>,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Text of the template: a range of the source.
    Data(u32, u32),
    Print(ExprId),
    Set(Target, ExprId),
    /// The filter has no operand; it gets what the body wrote.
    SetBlock(Target, Option<ExprId>, Vec<Stmt>),
    If(Vec<(ExprId, Vec<Stmt>)>, Vec<Stmt>),
    For(Box<For>),
    Break,
    Continue,
    Macro(NameId, Signature, Vec<Stmt>),
    Call(Signature, ExprId, Vec<Stmt>),
    Filter(ExprId, Vec<Stmt>),
    With(Vec<(Target, ExprId)>, Vec<Stmt>),
    Generation(Vec<Stmt>),
}

/// A statement and its place.
#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub kind: Kind,
    pub at: u32,
}

/// All expressions and names of a template.
#[derive(Default)]
pub(crate) struct Ast {
    exprs: Vec<(Expr, u32)>,
    names: Vec<String>,
    by_name: std::collections::HashMap<String, NameId>,
}

impl Ast {
    pub(crate) fn push(&mut self, expr: Expr, at: u32) -> ExprId {
        // A source has fewer bytes than 32 bits count, and an expression takes one at least.
        self.exprs.push((expr, at));
        ExprId(self.exprs.len() as u32 - 1)
    }

    pub(crate) fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize].0
    }

    pub(crate) fn at(&self, id: ExprId) -> u32 {
        self.exprs[id.0 as usize].1
    }

    pub(crate) fn name_id(&mut self, name: &str) -> NameId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = NameId(self.names.len() as u32);
        self.names.push(name.to_string());
        self.by_name.insert(name.to_string(), id);
        id
    }

    pub(crate) fn known_name(&self, name: &str) -> Option<NameId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn name(&self, id: NameId) -> &str {
        &self.names[id.0 as usize]
    }
}
