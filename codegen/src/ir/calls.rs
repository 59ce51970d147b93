//! Calls that cold blocks share.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::entity::{Block, Symbol, TopicId, Value};
use super::inst::{Inst, Target, Terminator};
use super::module::{BlockData, Function, Hint, Placed, SourceLocation, ValueData};
use super::order::{drop_unused, order_blocks};
use super::signature::Type;

/// Kind of calls that become one: the callee, the block that follows, and the place in the user's source.
type Kind = (Symbol, Block, Option<SourceLocation>);

impl Function {
    /// Returns the function with calls that cold blocks share, or as it is if it is cold itself or there are none.
    ///
    /// Checks fail with calls of few routines, and all of them jump to one block afterwards. Where cold blocks end with
    /// calls of one function whose results nothing reads, one block makes the call for all. Its parameters are the
    /// arguments that differ, and the offset alone where these are addresses in one object. A call is the instruction
    /// that takes a native compiler longest; what stays in each block are a few constants and a jump.
    ///
    /// ```
    /// use tvm_ffi_codegen::ir::Module;
    ///
    /// let text = "\
    /// import func @fail(i64, i64)
    ///
    /// export func @f(%a: i64, %b: i64) {
    /// entry:
    ///     %n: i64 = const 8
    ///     %first: bool = compare ne %a, %n
    ///     branch %first, fail1, next2
    /// fail1 cold:
    ///     %one: i64 = const 1
    ///     %kind1: i64 = const 7
    ///     call @fail(%one, %kind1)
    ///     jump out4
    /// next2:
    ///     %second: bool = compare ne %b, %n
    ///     branch %second, fail3, next5
    /// fail3 cold:
    ///     %two: i64 = const 2
    ///     %kind2: i64 = const 7
    ///     call @fail(%two, %kind2)
    ///     jump out4
    /// out4 cold:
    ///     return
    /// next5:
    ///     return
    /// }
    /// ";
    /// let mut module: Module = text.parse()?;
    /// module.functions = vec![module.functions[0].with_shared_calls().into_owned()];
    /// let shared = module.to_string();
    /// assert!(shared.contains("fail3 cold:\n    %two: i64 = const 2\n    jump fail4(%two)\n"), "{shared}");
    /// let call = "\
    /// fail4(%one.2: i64) cold:
    ///     %kind1.2: i64 = const 7
    ///     call @fail(%one.2, %kind1.2)
    ///     jump out5
    /// ";
    /// assert!(shared.contains(call), "{shared}");
    /// # Ok::<(), tvm_ffi_codegen::ir::ReadError>(())
    /// ```
    pub fn with_shared_calls(&self) -> Cow<'_, Function> {
        let kinds = self.shared_calls();
        if kinds.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut function = self.clone();
        kinds.into_iter().for_each(|(kind, sites)| function.share(kind, &sites));
        order_blocks(&mut function.blocks);
        drop_unused(&mut function);
        Cow::Owned(function)
    }

    /// Returns the calls that several cold blocks of a hot function end with, and these blocks.
    fn shared_calls(&self) -> Vec<(Kind, Vec<usize>)> {
        let mut kinds: Vec<(Kind, Vec<usize>)> = Vec::new();
        if self.cold {
            return kinds;
        }
        let mut read = vec![false; self.values.len()];
        for block in &self.blocks {
            let insts = block.insts.iter().map(|placed| &placed.inst);
            insts.for_each(|inst| inst.operands(|value| read[value.index()] = true));
            block.end.iter().for_each(|end| end.operands(|value| read[value.index()] = true));
        }
        let mut places: FxHashMap<Kind, usize> = FxHashMap::default();
        for (at, block) in self.blocks.iter().enumerate().filter(|(_, block)| block.cold) {
            let (
                Some(Placed { result, inst: Inst::Call { callee, .. }, topic }),
                Some(Terminator::Jump(to)),
            ) = (block.insts.last(), &block.end)
            else {
                continue;
            };
            if to.args.is_empty() && result.is_none_or(|result| !read[result.index()]) {
                let location = self.topics.get(topic.index()).and_then(|topic| topic.location);
                let kind = (*callee, to.block, location);
                let place = *places.entry(kind).or_insert(kinds.len());
                if place == kinds.len() {
                    kinds.push((kind, Vec::new()));
                }
                kinds[place].1.push(at);
            }
        }
        kinds.retain(|(_, sites)| sites.len() > 1);
        kinds
    }

    /// Moves the calls at the end of blocks to one block of their own.
    fn share(&mut self, (callee, next, location): Kind, sites: &[usize]) {
        let mut given = Vec::new();
        let (mut result, mut topic) = (None, TopicId::default());
        for &at in sites {
            let Some(call) = self.blocks[at].insts.pop() else { continue };
            if let Inst::Call { args, .. } = call.inst {
                given.push(args);
            }
            result = call.result;
            topic = if location.is_some() { call.topic } else { topic };
        }
        let mut shared = BlockData { cold: true, end_topic: topic, ..BlockData::default() };
        shared.label = self.blocks[sites[0]].label.clone();
        let mut passed = vec![Vec::new(); sites.len()];
        let mut args = Vec::new();
        for index in 0..given[0].len() {
            let given: Vec<Value> = given.iter().map(|args| args[index]).collect();
            args.push(self.shared_argument(sites, &given, (&mut shared, topic), &mut passed));
        }
        let result = result.map(|result| self.another(self.values[result.index()]));
        shared.insts.push(Placed { result, inst: Inst::Call { callee, args }, topic });
        shared.end = Some(Terminator::Jump(next.into()));
        let block = Block(self.blocks.len() as u32);
        self.blocks.push(shared);
        for (&at, args) in sites.iter().zip(passed) {
            self.blocks[at].end = Some(Terminator::Jump(Target { block, args }));
        }
    }

    /// Returns the argument of a shared call, of those given in each block: the same value, the same literal again, or
    /// a parameter, for which each block passes a value.
    fn shared_argument(
        &mut self,
        sites: &[usize],
        given: &[Value],
        (shared, topic): (&mut BlockData, TopicId),
        passed: &mut [Vec<Value>],
    ) -> Value {
        let first = given[0];
        if given.iter().all(|value| *value == first) {
            return first;
        }
        let literals =
            sites.iter().zip(given).map(|(&at, &value)| self.blocks[at].literal(value).cloned());
        let literals: Option<Vec<Inst>> = literals.collect();
        let value = self.another(self.values[first.index()]);
        if let Some(literals) = &literals
            && literals.iter().all(|literal| *literal == literals[0])
        {
            let inst = literals[0].clone();
            shared.insts.push(Placed { result: Some(value), inst, topic });
            return value;
        }
        let Some((symbol, offsets)) = literals.and_then(|literals| offsets(&literals)) else {
            shared.params.push(value);
            passed.iter_mut().zip(given).for_each(|(passed, &given)| passed.push(given));
            return value;
        };
        let word = ValueData { ty: Type::I64, hint: Hint::default(), points_to: None };
        for ((&at, passed), bits) in sites.iter().zip(passed).zip(offsets) {
            let result = self.another(word);
            let inst = Inst::Const { ty: Type::I64, bits };
            let topic = self.blocks[at].end_topic;
            self.blocks[at].insts.push(Placed { result: Some(result), inst, topic });
            passed.push(result);
        }
        let (offset, base) = (self.another(word), self.another(self.values[first.index()]));
        shared.params.push(offset);
        let insts =
            [(base, Inst::Address { symbol, offset: 0 }), (value, Inst::PtrAdd { base, offset })];
        let insts = insts.map(|(value, inst)| Placed { result: Some(value), inst, topic });
        shared.insts.extend(insts);
        value
    }

    /// Adds a value like another.
    fn another(&mut self, data: ValueData) -> Value {
        self.values.push(data);
        Value(self.values.len() as u32 - 1)
    }
}

impl BlockData {
    /// Returns the constant or address that the block makes as this value.
    fn literal(&self, value: Value) -> Option<&Inst> {
        let made = self.insts.iter().find(|placed| placed.result == Some(value))?;
        matches!(made.inst, Inst::Const { .. } | Inst::Address { .. }).then_some(&made.inst)
    }
}

/// Returns the object that all of these are addresses in, and the offsets; `None` if there is none.
fn offsets(literals: &[Inst]) -> Option<(Symbol, Vec<u64>)> {
    let first = literals[0].symbol()?;
    let offset = |inst: &Inst| {
        let Inst::Address { symbol, offset } = inst else { return None };
        (*symbol == first).then_some(i64::from(*offset) as u64)
    };
    Some((first, literals.iter().map(offset).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use crate::ir::entity::TopicId;
    use crate::ir::{Inst, Module, SourceLocation, Topic};

    /// `f` fails in two places. The first argument of the calls is an address in one object.
    const MODULE: &str = r#"
import func @fail(ptr, i64) -> i32

local data @records size 8 align 1 {
    "\00\00\00\00\00\00\00\00"
}

export func @f(%a: i64, %b: i64, %n: i64) -> i32 {
entry:
    %v3: bool = compare eq %a, %n
    branch %v3, fail1, next2
fail1 cold:
    %first: ptr = address @records+2
    %v5: i32 = call @fail(%first, %n)
    jump out4
next2:
    %v6: bool = compare eq %b, %n
    branch %v6, fail3, out5
fail3 cold:
    %second: ptr = address @records+6
    %v8: i32 = call @fail(%second, %n)
    jump out4
out4 cold:
    %minus: i32 = const -1
    return %minus
out5:
    %zero: i32 = const 0
    return %zero
}
"#;

    /// Returns the text of `f` with shared calls, and whether it has any.
    fn shared(text: &str) -> (String, bool) {
        let mut module: Module = text.parse().expect("it is host IR");
        let before = module.to_string();
        module.functions = vec![module.functions[0].with_shared_calls().into_owned()];
        crate::ir::verify(&module).expect("it is valid");
        let after = module.to_string();
        let differs = before != after;
        (after, differs)
    }

    #[test]
    fn addresses_in_one_object_are_passed_as_offsets() {
        let (text, _) = shared(MODULE);
        let block = "\
fail4(%v14: i64) cold:
    %first.3: ptr = address @records
    %first.2: ptr = ptr_add %first.3, %v14
    %v8.2: i32 = call @fail(%first.2, %n)
    jump out5
";
        assert!(text.contains(block), "{text}");
        assert!(
            text.contains("fail3 cold:\n    %v13: i64 = const 6\n    jump fail4(%v13)\n"),
            "{text}"
        );
    }

    #[test]
    fn only_what_nothing_else_depends_on_is_shared() {
        assert!(shared(MODULE).1);
        let changes = [
            // The function or a block is not cold or hot as it was.
            ("-> i32 {\nentry", "-> i32 cold {\nentry"),
            ("fail3 cold:", "fail3:"),
            // A block goes elsewhere, does something after the call, or passes on what it returns.
            ("%n)\n    jump out4\nnext2", "%n)\n    return %v5\nnext2"),
            (
                "%n)\n    jump out4\nnext2",
                "%n)\n    store %n, %first+0 align 1\n    jump out4\nnext2",
            ),
        ];
        for (from, to) in changes {
            let changed = MODULE.replacen(from, to, 1);
            assert_ne!(changed, MODULE);
            assert!(!shared(&changed).1, "{to}");
        }
    }

    /// A debugger shows the line of a check that failed, so calls of two lines stay two.
    #[test]
    fn calls_of_one_place_in_the_source_are_shared() {
        let module: Module = MODULE.parse().expect("it is host IR");
        for lines in [[1, 2], [1, 1]] {
            let mut function = module.functions[0].clone();
            let at = |line| Some(SourceLocation { file: 0, line, column: 0 });
            function.topics =
                lines.map(|line| Topic { location: at(line), ..Topic::default() }).into();
            let calls = function.blocks.iter_mut().filter_map(|block| block.insts.last_mut());
            let calls = calls.filter(|placed| matches!(placed.inst, Inst::Call { .. }));
            calls.enumerate().for_each(|(index, placed)| placed.topic = TopicId(index as u32));
            let is_shared = matches!(function.with_shared_calls(), Cow::Owned(_));
            assert_eq!(is_shared, lines[0] == lines[1], "{lines:?}");
        }
    }
}
