//! Filters: one function and one line of a table each.

mod html;
mod json;
mod lists;
mod mapping;
mod numbers;
mod order;
mod texts;
mod wrap;

use crate::args::Args;
use crate::env::Env;
use crate::error::Result;
use crate::value::Value;

/// A filter: the value, the arguments.
pub(crate) type Run = fn(&Env, &Value, Args) -> Result<Value>;

/// A filter by name.
#[derive(Debug)]
pub(crate) struct Filter {
    pub name: &'static str,
    pub run: Run,
}

const fn row(name: &'static str, run: Run) -> Filter {
    Filter { name, run }
}

/// A line a filter, in the order of their names.
static TABLE: &[Filter] = &[
    row("abs", numbers::abs),
    row("attr", lists::attr),
    row("batch", lists::batch),
    row("capitalize", texts::capitalize),
    row("center", texts::center),
    row("count", lists::length),
    row("d", lists::default),
    row("default", lists::default),
    row("dictsort", order::dictsort),
    row("e", html::escape),
    row("escape", html::escape),
    row("filesizeformat", numbers::filesizeformat),
    row("first", lists::first),
    row("float", numbers::float),
    row("forceescape", html::forceescape),
    row("format", texts::format),
    row("groupby", order::groupby),
    row("indent", texts::indent),
    row("int", numbers::int),
    row("items", lists::items),
    row("join", texts::join),
    row("last", lists::last),
    row("length", lists::length),
    row("list", lists::list),
    row("lower", texts::lower),
    row("map", mapping::map),
    row("max", order::max),
    row("min", order::min),
    row("reject", mapping::reject),
    row("rejectattr", mapping::rejectattr),
    row("replace", texts::replace),
    row("reverse", lists::reverse),
    row("round", numbers::round),
    row("safe", html::safe),
    row("select", mapping::select),
    row("selectattr", mapping::selectattr),
    row("slice", lists::slice),
    row("sort", order::sort),
    row("string", texts::string),
    row("striptags", html::striptags),
    row("sum", numbers::sum),
    row("title", texts::title),
    row("tojson", json::tojson),
    row("trim", texts::trim),
    row("truncate", texts::truncate),
    row("unique", order::unique),
    row("upper", texts::upper),
    row("urlencode", html::urlencode),
    row("wordcount", texts::wordcount),
    row("wordwrap", wrap::wordwrap),
    row("xmlattr", html::xmlattr),
];

/// The filter of this name.
pub(crate) fn find(name: &str) -> Option<&'static Filter> {
    TABLE.binary_search_by(|row| row.name.cmp(name)).ok().map(|found| &TABLE[found])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(TABLE.is_sorted_by(|a, b| a.name < b.name));
    }
}
