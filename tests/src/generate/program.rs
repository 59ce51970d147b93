//! Generator of programs: statements of all kinds but launches, in random order, nested, with what they name in scope.

use super::Choices;
use super::declaration::Names;
use super::expression::{comparison, float, hostile, int};

/// Results of the functions that programs are bodies of.
pub(super) const RESULTS: [&str; 7] = ["None", "int64", "int64", "float64", "bool", "Any", "int8"];

/// Generates a block, whose last statement before a result is a call.
pub(super) fn program(
    choices: &mut Choices<'_>,
    names: &Names,
    result: &str,
    call: &str,
) -> String {
    let mut program = Program { names: names.clone(), values: 0, result };
    let statements = program.statements(choices, 3);
    let end = program.end(choices);
    format!("{{ {statements} {call}; {end} }}")
}

/// A program and what is in scope at its end.
struct Program<'r> {
    names: Names,
    /// Number of values that have a name.
    values: usize,
    result: &'r str,
}

impl Program<'_> {
    fn fresh(&mut self) -> String {
        self.values += 1;
        format!("v{}", self.values)
    }

    /// Generates statements; `depth` limits how deeply blocks nest.
    fn statements(&mut self, choices: &mut Choices<'_>, depth: usize) -> String {
        let count = choices.pick(&[1, 2, 3, 4, 2, 0]);
        (0..count).map(|_| self.statement(choices, depth) + " ").collect()
    }

    /// Generates the statements of a block, after which nothing that they name is in scope.
    fn block(&mut self, choices: &mut Choices<'_>, depth: usize, names: Names) -> String {
        let outer = std::mem::replace(&mut self.names, names);
        let mut text = self.statements(choices, depth - 1);
        if choices.once_in(6) {
            text += &self.leave(choices);
        }
        self.names = outer;
        format!("{{ {text} }}")
    }

    fn statement(&mut self, choices: &mut Choices<'_>, depth: usize) -> String {
        match choices.below(if depth > 0 { 17 } else { 10 }) {
            0 => format!("note_1(({}) + 0);", self.int(choices)),
            1..=3 => {
                let (value, name) = (self.int(choices), self.fresh());
                let text = format!("let {name} = {value};");
                self.names.ints.push(name);
                text
            }
            4 => {
                let (value, name) = (float(choices, &self.names, 2), self.fresh());
                let text = format!("let {name} = {value};");
                self.names.floats.push(name);
                text
            }
            5 => {
                let (value, name) = (self.truth(choices), self.fresh());
                let text = format!("let {name} = {value};");
                self.names.bools.push(name);
                text
            }
            6 => {
                let ty = choices.pick(&["int64", "int8", "uint16", "int32", "uint64"]);
                let (value, name) = (self.int(choices), self.fresh());
                let text = format!("let {name}: {ty} = echo_{ty}({ty}({value}));");
                self.names.ints.push(name);
                text
            }
            7 => {
                let ty = choices.pick(&["Array[int64]", "Array[int8]", "Tuple[int16, Any]"]);
                // A name may be that of a value that is missing, which is passed on as None.
                let values = [0; 2].map(|_| match int(choices, &self.names, 1) {
                    value if self.names.symbols.contains(&value.as_str()) => value,
                    value => format!("({value}) + 0"),
                });
                let name = self.fresh();
                let text = format!("let {name}: {ty} = @\"ffi.Array\"({});", values.join(", "));
                self.names.ints.push(format!("{name}.size"));
                match ty.starts_with("Array") {
                    true => self.names.lists.push(name),
                    false => self.names.ints.push(format!("{name}[0]")),
                }
                text
            }
            8 | 9 => self.workspace(choices),
            10..=12 => {
                let condition = self.truth(choices);
                let then = self.block(choices, depth, self.names.clone());
                match choices.below(3) {
                    0 => format!("if {condition} {then}"),
                    1 => {
                        let otherwise = self.block(choices, depth, self.names.clone());
                        format!("if {condition} {then} else {otherwise}")
                    }
                    _ => {
                        let second = self.truth(choices);
                        let otherwise = self.block(choices, depth, self.names.clone());
                        format!("if {condition} {then} else if {second} {otherwise}")
                    }
                }
            }
            13 | 14 => {
                let start = match choices.below(4) {
                    0 => format!("max({}, 0)", int(choices, &self.names, 1)),
                    1 => "9223372036854775805".to_owned(),
                    2 => "-1".to_owned(),
                    _ => "0".to_owned(),
                };
                let end = match choices.below(4) {
                    _ if start.starts_with('9') => "9223372036854775807".to_owned(),
                    0 => "2".to_owned(),
                    _ => format!("min({}, 3)", int(choices, &self.names, 1)),
                };
                let counter = self.fresh();
                let mut names = self.names.clone();
                names.ints.push(counter.clone());
                format!("for {counter} in {start}..{end} {}", self.block(choices, depth, names))
            }
            _ => self.alternatives(choices, depth),
        }
    }

    /// Generates an integer expression, small enough to be valid for most arguments.
    fn int(&self, choices: &mut Choices<'_>) -> String {
        let depth = choices.pick(&[1, 0, 0, 2]);
        int(choices, &self.names, depth)
    }

    /// Generates an allocation of few elements, or of a negative number of them.
    fn workspace(&mut self, choices: &mut Choices<'_>) -> String {
        let extents = choices.pick(&[1, 2, 0, 1]);
        let extents: Vec<String> = (0..extents)
            .map(|_| match choices.below(4) {
                0 => "2".to_owned(),
                1 => int(choices, &self.names, 0) + " % 5",
                _ => format!("min({}, 6)", int(choices, &self.names, 1)),
            })
            .collect();
        let dtype = choices.pick(&["float32", "int8", "float64", "bool", "int64"]);
        let on = match choices.below(3) {
            0 if !self.names.tensors.is_empty() => {
                format!(" on {}", self.names.tensors[0].0)
            }
            _ => String::new(),
        };
        let name = self.fresh();
        let text = format!("let {name} = alloc Tensor([{}], {dtype}){on};", extents.join(", "));
        self.names.tensors.push((name, Some(extents.len())));
        text
    }

    /// Generates a `match`, or a block if nothing can be matched.
    fn alternatives(&mut self, choices: &mut Choices<'_>, depth: usize) -> String {
        if self.names.matched.is_empty() {
            return format!(
                "if {} {}",
                self.truth(choices),
                self.block(choices, depth, self.names.clone())
            );
        }
        let (value, types) = self.names.matched[choices.below(self.names.matched.len())].clone();
        let mut arms = String::new();
        for ty in &types {
            if ty == "None" {
                arms += &format!("None => {} ", self.block(choices, depth, self.names.clone()));
                continue;
            }
            let name = self.fresh();
            let mut names = self.names.clone();
            match ty.as_str() {
                "int64" | "int8" => names.ints.push(name.clone()),
                "bool" => names.bools.push(name.clone()),
                "float64" | "float32" => names.floats.push(name.clone()),
                "str" => {
                    names.ints.push(format!("{name}.size"));
                    names.texts.push(name.clone());
                }
                "bytes" | "Shape" => names.ints.push(format!("{name}.size")),
                "Array[int64]" => {
                    names.ints.push(format!("{name}.size"));
                    names.lists.push(name.clone());
                }
                _ if ty.starts_with("Array") => names.ints.push(format!("{name}.size")),
                _ if ty.starts_with("Tensor([_, 2]") => names.tensors.push((name.clone(), Some(2))),
                _ => {}
            }
            arms += &format!("{name}: {ty} => {} ", self.block(choices, depth, names));
        }
        format!("match {value} {{ {arms}}}")
    }

    /// Generates a truth.
    fn truth(&mut self, choices: &mut Choices<'_>) -> String {
        let one = comparison(choices, &self.names);
        match choices.below(6) {
            0 => format!("not ({one})"),
            1 => format!("({one}) and {}", comparison(choices, &self.names)),
            2 => format!("({one}) or ({})", comparison(choices, &self.names)),
            _ => one,
        }
    }

    /// Generates a statement that leaves the function.
    fn leave(&mut self, choices: &mut Choices<'_>) -> String {
        if !choices.once_in(3) {
            return self.end(choices);
        }
        let kind = choices.pick(&["ValueError", "KeyError", "MyOwnError"]);
        let text = hostile(choices);
        let value = format!("({}) + 0", int(choices, &self.names, 1));
        match choices.below(3) {
            0 => format!("raise {kind} {text};"),
            1 => format!("raise {kind} {text}, {value}, \" and \", {};", self.truth(choices)),
            _ => format!("raise {kind} {value}, {text};"),
        }
    }

    /// Generates a statement that returns a result.
    fn end(&mut self, choices: &mut Choices<'_>) -> String {
        match self.result {
            "None" => "return;".to_owned(),
            "float64" => format!("return {};", float(choices, &self.names, 2)),
            "bool" => format!("return {};", self.truth(choices)),
            "int8" => format!("return int8({});", int(choices, &self.names, 2)),
            _ => format!("return ({}) + 0;", int(choices, &self.names, 2)),
        }
    }
}
