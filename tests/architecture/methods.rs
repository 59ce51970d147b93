//! The methods of the emitter and of the wrapper stand in the rooms of `lower`: which may call which.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use crate::rooms::{may_use, room};
use crate::sources::sources;

/// The types whose methods are spread over rooms.
const SPREAD: [&str; 2] = ["Emitter", "Wrapper"];

/// What `self` and the parameters of closures that stand for it are called.
const RECEIVERS: [&str; 2] = ["self", "w"];

/// The methods of a file, and those that it calls, each with its line.
#[derive(Default)]
struct Methods {
    /// True inside an `impl` of one of the types.
    is_spread: bool,
    defined: Vec<String>,
    called: Vec<(String, usize)>,
}

impl<'ast> Visit<'ast> for Methods {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let syn::Type::Path(path) = &*item.self_ty else { return };
        let name = path.path.segments.last().map(|last| last.ident.to_string());
        self.is_spread = name.is_some_and(|name| SPREAD.contains(&&*name)) && item.trait_.is_none();
        visit::visit_item_impl(self, item);
        self.is_spread = false;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if self.is_spread && function.sig.receiver().is_some() {
            self.defined.push(function.sig.ident.to_string());
        }
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let syn::Expr::Path(path) = &*call.receiver
            && let Some(receiver) = path.path.get_ident()
            && RECEIVERS.contains(&&*receiver.to_string())
            && (self.is_spread || receiver == "w")
        {
            let line = call.method.span().start().line;
            self.called.push((call.method.to_string(), line));
        }
        visit::visit_expr_method_call(self, call);
    }
}

fn methods(text: &syn::File) -> Methods {
    let mut methods = Methods::default();
    methods.visit_file(text);
    methods
}

#[test]
fn no_method_calls_one_of_a_room_above_it() {
    let mut rooms = BTreeMap::new();
    let mut calls = Vec::new();
    for source in sources("codegen/src") {
        let Some(room) = room(&source.module).filter(|room| room.starts_with("lower")) else {
            continue;
        };
        let Methods { defined, called, .. } = methods(&source.parse());
        for name in defined {
            let other = rooms.insert(name.clone(), room.clone());
            let is_one = other.is_none_or(|other| other == room);
            assert!(is_one, "{}: {name} is in two rooms", source.path);
        }
        calls.extend(
            called.into_iter().map(|(name, line)| (source.path.clone(), room.clone(), name, line)),
        );
    }
    assert!(rooms.len() > 200, "methods are found: {}", rooms.len());
    let faults = calls.into_iter().filter_map(|(path, from, name, line)| {
        let to = rooms.get(&name)?;
        (!may_use(&from, to)).then(|| format!("{path}:{line}: {from} calls {name} of {to}"))
    });
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn methods_and_their_calls_are_found() {
    let text = "impl Wrapper<'_, '_> {\n    fn one(&mut self) {\n        self.two(|w| w.three());\n        other.four();\n    }\n    fn new() {}\n}\nimpl Message {\n    fn five(&self) {\n        self.six();\n    }\n}\nfn seven(w: &mut Wrapper<'_, '_>) {\n    w.eight();\n}\n";
    let Methods { defined, called, .. } = methods(&syn::parse_file(text).unwrap());
    assert_eq!(defined, ["one"]);
    let expected = [("two", 3), ("three", 3), ("eight", 14)];
    assert_eq!(called, expected.map(|(name, line)| (name.to_owned(), line)));
}
