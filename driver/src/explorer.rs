//! The explorer: one self-contained page that shows a library in columns, from the declaration to machine code, in
//! which the lines that belong together light up.

mod disassembly;
mod escape;

use std::collections::HashMap;
use std::fmt::Write as _;

use codegen::ir::{self, TopicId};
use codegen::{AboutLine, Explanation, Resolved};
use target_lexicon::Triple;

use crate::Error;
use disassembly::disassembled;
use escape::{escaped, topic_list};

const STYLE: &str = include_str!("explorer/page.css");
const SCRIPT: &str = include_str!("explorer/page.js");

/// A column of a function: its title, the note under it, and its lines.
struct Column {
    title: &'static str,
    note: &'static str,
    lines: Vec<AboutLine>,
}

/// Returns the page of a library in HTML. Machine code is that of Cranelift for a target.
///
/// # Errors
/// [`Error::Backend`], from C and from Cranelift, which has not every target.
pub(crate) fn page(
    resolved: &Resolved<'_>,
    module: &ir::Module,
    target: &Triple,
) -> Result<String, Error> {
    let explained = resolved.explain();
    let symbols: Vec<ir::Symbol> =
        explained.iter().filter_map(|function| module.find(&function.symbol)).collect();
    let listings =
        backend_cranelift::listings(target, module, &symbols).map_err(of("cranelift"))?;
    let texts = backend_c::listings(module, &symbols).map_err(of("c"))?;
    let lowered: HashMap<ir::Symbol, &ir::Function> =
        module.functions.iter().map(|function| (function.symbol, function)).collect();
    let names: Vec<&str> = explained.iter().map(|function| &*function.symbol).collect();
    let mut html = head(&names);
    let listings = listings.iter().zip(texts);
    for ((function, symbol), (listing, c)) in explained.into_iter().zip(symbols).zip(listings) {
        let lowered = lowered.get(&symbol).copied();
        let named = |lines: Vec<ir::Line>| match lowered {
            Some(lowered) => lines.into_iter().map(|line| named(lowered, line)).collect(),
            None => Vec::new(),
        };
        let host = lowered.map(|lowered| module.lines(lowered)).unwrap_or_default();
        let machine = disassembled(listing, target);
        let Explanation { symbol, declaration, resolved, messages } = function;
        let columns = [
            ("Declaration", "", declaration),
            ("Resolved", "checks in the order in which failures are reported", resolved),
            ("Messages", "… is the call, capitals are what only a call knows", messages),
            ("Host IR", "the input of every backend", named(host)),
            ("C", "", named(c)),
            ("Machine code", "by Cranelift", named(machine)),
        ];
        let columns = columns.map(|(title, note, lines)| Column { title, note, lines });
        section(&mut html, &symbol, &columns);
    }
    html.push_str(&format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"));
    Ok(html)
}

/// Replaces topics of a function by their names.
fn named(function: &ir::Function, line: ir::Line) -> AboutLine {
    let name = |topic: TopicId| function.topic_text(topic);
    AboutLine { text: line.text, topics: line.topics.into_iter().filter_map(name).collect() }
}

/// Returns the beginning of the page, with a list of the functions if there are several.
fn head(names: &[&str]) -> String {
    let title = names.first().copied().unwrap_or("a library without functions");
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<p class=\"help\">Touch a line to light what belongs to it; click to keep \
         it.</p>\n",
        escaped(title)
    );
    if names.len() > 1 {
        html.push_str("<nav>\n");
        for name in names {
            let name = escaped(name);
            writeln!(html, "<a href=\"#{name}\">{name}</a>").expect("strings grow");
        }
        html.push_str("</nav>\n");
    }
    html
}

/// Adds a function.
fn section(html: &mut String, symbol: &str, columns: &[Column]) {
    let symbol = escaped(symbol);
    let mut add = |text: String| html.push_str(&text);
    add(format!("<section id=\"{symbol}\">\n<h2>{symbol}</h2>\n<div class=\"columns\">\n"));
    for Column { title, note, lines } in columns.iter().filter(|column| !column.lines.is_empty()) {
        let whole = if *title == "Declaration" { " whole" } else { "" };
        add(format!(
            "<div class=\"column{whole}\">\n<h3>{title} <small>{note}</small></h3>\n<pre>"
        ));
        for AboutLine { text, topics } in lines {
            let topics = match topics.is_empty() {
                true => String::new(),
                false => format!(" tabindex=\"0\" data-topics=\"{}\"", topic_list(topics)),
            };
            add(format!("<code{topics}>{}\n</code>", escaped(text)));
        }
        add("</pre>\n</div>\n".to_owned());
    }
    add("</div>\n</section>\n".to_owned());
}

/// Returns the error of a backend.
fn of(name: &'static str) -> impl Fn(codegen::backend::Error) -> Error {
    move |source| Error::Backend { name, source: source.into() }
}
