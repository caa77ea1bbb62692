//! `explain`: the steps of a model with their kernels.

mod json;
mod layers;
mod text;

use super::open;
use crate::args::ExplainArgs;
use crate::signals::Signals;
use crate::terminal::printable;
use crate::{Error, output};
use inkstone::graph::Wants;
use std::io::Write;

pub(crate) fn explain(args: &ExplainArgs, signals: &Signals) -> Result<(), Error> {
    let model = open::model(&args.source()?, open::options(&args.engine), signals)?;
    let mut out = output::stdout();
    if args.graph {
        for kind in Wants::TOKENS.kinds() {
            let Some(graph) = model.graph().graph(kind) else { continue };
            write!(out, "{}", printable(&graph.to_string()))?;
        }
    } else {
        let explanation = model.explain(args.phase())?;
        if args.plan {
            write!(out, "{}", explanation.plan)?;
        } else if args.json {
            json::write(&mut out, &explanation)?;
        } else {
            text::write(&mut out, &explanation, args.all)?;
        }
    }
    out.flush()?;
    Ok(())
}
