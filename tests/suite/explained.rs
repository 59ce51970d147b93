//! Compares what pages show of a library with what it is: messages with those that calls raise, lines with those of the
//! texts, machine code with that of an object.

use codegen::ir::{Linkage, Module};
use codegen::{Backend as _, Explanation, Options, Routines};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use target_lexicon::Triple;
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::outcome::End;

/// Words that stand for what only a call knows, as the chapter `messages` of the guide has them.
const WORDS: [&str; 9] =
    ["INT", "FLOAT", "BOOL", "POINTER", "DTYPE", "DEVICE", "TYPE", "VALUE", "TEXT"];

/// Splits an announced message at the words in capitals and at indices of loops.
fn fixed_parts(announced: &str) -> Vec<String> {
    let mut text = announced.replace("[i]", "[\0]").replace("[j]", "[\0]").replace("[k]", "[\0]");
    for word in WORDS {
        text = text.replace(word, "\0");
    }
    text.split('\0').map(str::to_owned).collect()
}

/// Returns true if a message has the fixed parts in order, from its beginning to its end.
fn matches(parts: &[String], message: &str) -> bool {
    let [first, others @ ..] = parts else { return false };
    let Some(rest) = message.strip_prefix(first.as_str()) else { return false };
    let [middle @ .., last] = others else { return rest.is_empty() };
    let found = middle.iter().try_fold(rest, |rest, part| Some(rest.split_once(part.as_str())?.1));
    found.is_some_and(|rest| rest.ends_with(last.as_str()))
}

/// Writes `…` for ` when calling: ` and the signature.
fn shortened(message: &str) -> String {
    let Some((start, rest)) = message.split_once(" when calling: `") else {
        return message.to_owned();
    };
    let end = rest.rsplit_once("`, ").map_or("", |(_, end)| end);
    format!("{start} …, {end}")
}

/// Returns the fixed parts of the messages that the functions of a case announce.
fn announced(case: &cases::Case) -> Vec<Vec<String>> {
    let library = cases::library(std::slice::from_ref(case));
    let explained = library.resolve().expect("the table is valid").explain();
    let messages = explained.iter().flat_map(|Explanation { messages, .. }| messages);
    messages.map(|line| fixed_parts(&line.text)).collect()
}

#[test]
fn errors_about_arguments_are_announced() {
    let mut missing = Vec::new();
    let mut count = 0;
    let table = cases::table();
    let announced: Vec<Vec<Vec<String>>> = table.iter().map(announced).collect();
    for (case, own) in table.iter().zip(&announced) {
        for row in &case.rows {
            let End::Error { kind, message } = &row.expected.end else { continue };
            // Errors of other things than arguments are none of the prologue's.
            let Some((subject, _)) = message.split_once(" on argument #") else { continue };
            // Nor are those of conversions, which stand in conditions and in the body.
            if subject.starts_with("Out of range ") && subject.ends_with(')') {
                continue;
            }
            count += 1;
            let text = shortened(&format!("{kind}: {message}"));
            let is_own = own.iter().any(|parts| matches(parts, &text));
            // The message that spells the signature is of a function that the case calls.
            let is_other = message.contains("when calling")
                && announced.iter().flatten().any(|parts| matches(parts, &text));
            if !is_own && !is_other {
                missing.push(format!("{}: {text}", row.place));
            }
        }
    }
    assert!(count > 500, "the table has errors: {count}");
    assert!(missing.is_empty(), "{} of {count}:\n{}", missing.len(), missing.join("\n"));
}

/// Returns the host IR of each case of the table, without routines.
fn modules() -> Vec<Module> {
    let options = Options { routines: Routines::Linked, ..Options::default() };
    let lower = |case: &cases::Case| {
        let library = cases::library(std::slice::from_ref(case));
        codegen::lower(&library.resolve().expect("the table is valid"), &options)
    };
    cases::table().iter().map(lower).collect()
}

#[test]
fn lines_are_those_of_the_texts() {
    let mut topics = [0; 2];
    for module in modules() {
        let host = module.to_string();
        let c = backend_c::C::default().text(&module, &[]).expect("C takes all");
        // Lines of a listing know their places otherwise.
        let c: Vec<&str> = c.lines().filter(|line| !line.starts_with("#line")).collect();
        let c = c.join("\n");
        for function in &module.functions {
            let lines = [
                module.lines(function),
                backend_c::listings(&module, &[function.symbol]).expect("C takes all").remove(0),
            ];
            for ((lines, text), count) in lines.iter().zip([&host, &c]).zip(&mut topics) {
                let joined: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
                let is_exported =
                    module.symbols[function.symbol.index()].linkage == Linkage::Export;
                assert!(!is_exported || text.contains(&joined.join("\n")), "{text}");
                *count += lines.iter().map(|line| line.topics.len()).sum::<usize>();
            }
        }
    }
    assert!(topics.iter().all(|count| *count > 10_000), "lines have topics: {topics:?}");
}

#[test]
fn machine_code_is_that_of_the_object() {
    let triple = Triple::host();
    let mut compared = 0;
    for module in modules().iter().step_by(20) {
        let exported = |symbol: usize| module.symbols[symbol].linkage == Linkage::Export;
        let symbols = module.functions.iter().map(|function| function.symbol);
        let symbols: Vec<_> = symbols.filter(|symbol| exported(symbol.index())).collect();
        let listings = backend_cranelift::listings(&triple, module, &symbols).expect("it compiles");
        let object =
            backend_cranelift::Cranelift::default().object(module, &[]).expect("it compiles");
        let file = object::File::parse(&*object).expect("it is an object");
        for (symbol, listing) in symbols.iter().zip(&listings) {
            let name = module.name(*symbol);
            let symbol =
                file.symbols().find(|symbol| symbol.name() == Ok(name)).expect("it is there");
            let section = symbol.section_index().expect("it is defined");
            let section = file.section_by_index(section).expect("it has a section");
            let code = section.data_range(symbol.address(), symbol.size()).expect("in range");
            assert_eq!(code, Some(&*listing.code), "{name}");
            let ends: Vec<u32> = listing.topics.iter().map(|(range, _)| range.end).collect();
            assert!(
                ends.is_sorted()
                    && ends.last().is_some_and(|end| *end as usize <= listing.code.len())
            );
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

/// A parameter may be called like a word that stands for what only a call knows.
#[test]
fn names_like_words_stay() {
    let text = "f(x: Tensor([n], float32), VALUE: Tensor([n], float32)) -> None = {};";
    let library: codegen::Library = text.parse().expect("it is valid");
    let explained = library.resolve().expect("it is valid").explain();
    let wanted = "ValueError: Mismatched VALUE.shape[0] on argument #1 …, expected INT (= x.shape[0]) but got INT";
    assert!(explained[0].messages.iter().any(|line| line.text == wanted), "{:?}", explained[0]);
}
