//! The choice of linkers among inputs: which objects of archives they take, and what is then undefined.

use std::collections::{BTreeMap, BTreeSet};

use crate::Input;
use crate::input::{Definition, ObjectFacts};

/// Objects that linkers take of the inputs, and their symbols.
#[derive(Default)]
pub(crate) struct Taken<'a> {
    /// Objects, members of archives among them, and shared libraries.
    pub(crate) objects: Vec<&'a ObjectFacts>,
    pub(crate) defined: BTreeMap<&'a [u8], Definition>,
    /// Symbols that are undefined, and whether any object needs them strongly.
    pub(crate) undefined: BTreeMap<&'a [u8], bool>,
    /// Symbols that an object defines which becomes part of the output.
    pub(crate) own: BTreeSet<&'a [u8]>,
    /// Symbols that only such a definition is one for, with the first object that says so and the name of the
    /// visibility.
    pub(crate) bound: BTreeMap<&'a [u8], (&'a ObjectFacts, &'static str)>,
}

impl<'a> Taken<'a> {
    /// Returns what linkers take: all objects; then, in the order of the inputs, shared libraries, and of archives the
    /// members that define a symbol still missing, or one of which there are only common definitions.
    pub(crate) fn of(inputs: &'a [Input]) -> Taken<'a> {
        let mut taken = Taken::default();
        let is_object = |input: &&Input| !input.is_archive() && !input.is_library();
        inputs.iter().filter(is_object).flat_map(Input::objects).for_each(|all| taken.add(all));
        let others = inputs.iter().filter(|input| !is_object(input));
        let mut left: Vec<(&Input, Vec<&ObjectFacts>)> =
            others.map(|input| (input, input.objects().iter().collect())).collect();
        loop {
            let before = taken.objects.len();
            for (input, members) in &mut left {
                taken.add_wanted(members, input.is_library());
            }
            if taken.objects.len() == before {
                return taken;
            }
        }
    }

    /// Moves members that are wanted here, or all, until none is wanted.
    fn add_wanted(&mut self, members: &mut Vec<&'a ObjectFacts>, all: bool) {
        loop {
            let before = members.len();
            members.retain(|member| {
                let is_taken = all || member.definitions().any(|(name, is)| self.wants(name, is));
                if is_taken {
                    self.add(member);
                }
                !is_taken
            });
            if members.len() == before {
                return;
            }
        }
    }

    fn wants(&self, name: &[u8], definition: Definition) -> bool {
        let is_common = self.defined.get(name) == Some(&Definition::Common);
        let is_missing = self.undefined.get(name) == Some(&true);
        is_missing || (is_common && matches!(definition, Definition::Data | Definition::Absolute))
    }

    /// Adds an object or a shared library.
    fn add(&mut self, facts: &'a ObjectFacts) {
        self.objects.push(facts);
        for (name, definition) in facts.definitions() {
            if facts.is_library && self.bound.contains_key(name) {
                continue;
            }
            if !facts.is_library {
                self.own.insert(name);
            }
            let known = self.defined.entry(name).or_insert(definition);
            if *known == Definition::Common {
                *known = definition;
            }
            self.undefined.remove(name);
        }
        for (name, visibility) in facts.bound() {
            self.bound.entry(name).or_insert((facts, visibility));
        }
        for (name, must) in facts.references() {
            let is_known = if self.bound.contains_key(name) {
                self.own.contains(name)
            } else {
                self.defined.contains_key(name)
            };
            if !is_known {
                *self.undefined.entry(name).or_default() |= must;
            }
        }
    }
}

/// Returns the undefined symbols that no input defines and any needs strongly.
pub(crate) fn undefined(inputs: &[Input]) -> BTreeSet<&[u8]> {
    let undefined = Taken::of(inputs).undefined;
    undefined.into_iter().filter(|(_, must)| *must).map(|(name, _)| name).collect()
}
