//! The reader of functions: blocks and instructions.

use super::*;
use crate::ir::inst::{Inst, Target, Terminator};
use crate::ir::module::Topic;
use crate::ir::operator::mnemonic;
use crate::ir::operator::{Binary, Checked, Cond, Convert};

/// A function that is being read, with its values and blocks by name.
struct Body<'a> {
    module: &'a Module,
    function: Function,
    values: FxHashMap<String, Value>,
    blocks: FxHashMap<String, Block>,
}

/// Reads a function whose symbol is declared.
pub(super) fn function(
    module: &Module,
    symbol: Symbol,
    item: &Item<'_>,
) -> Result<Function, ReadError> {
    let at = |line: usize| move |reason: String| ReadError { line, reason };
    let signature = module.signature(symbol).cloned().unwrap_or_default();
    let function = Function {
        symbol,
        signature,
        cold: false,
        no_inline: false,
        blocks: Vec::new(),
        values: Vec::new(),
        names: Vec::new(),
        about: String::new(),
        topics: vec![Topic::default()],
    };
    let (values, blocks) = (FxHashMap::default(), FxHashMap::default());
    let mut body = Body { module, function, values, blocks };
    let params = body.head(item.head).map_err(at(item.line))?;
    // The first pass collects all names, since loops refer forwards. Dominance is left to the verifier.
    for &(line, text) in &item.body {
        body.define(text).map_err(at(line))?;
    }
    let mut params = Some(params);
    let mut next = 0;
    for &(line, text) in &item.body {
        if is_label(text) {
            next += 1;
            if let Some(params) = params.take() {
                body.function.blocks[0].params.extend(params);
            }
            continue;
        }
        let Some(block) = usize::checked_sub(next, 1) else {
            return Err(at(line)("expected a block".to_owned()));
        };
        body.line(block, &mut Cursor::new(text)).map_err(at(line))?;
    }
    Ok(body.function)
}

/// Returns true for a line that starts a block.
fn is_label(line: &str) -> bool {
    !line.starts_with(' ')
}

impl Body<'_> {
    /// Reads the first line; returns the parameters.
    fn head(&mut self, head: &str) -> Read<Vec<Value>> {
        let mut cursor = Cursor::new(head);
        cursor.word();
        cursor.expect("func")?;
        cursor.name('@')?;
        let mut params = Vec::new();
        cursor.list(|cursor| {
            let name = cursor.name('%')?;
            cursor.expect(":")?;
            let ty = abi_type(cursor)?.ty;
            params.push(self.value_of(name, ty)?);
            Ok(())
        })?;
        if cursor.eat("->") {
            abi_type(&mut cursor)?;
        }
        self.function.cold = cursor.keyword("cold");
        self.function.no_inline = cursor.keyword("noinline");
        cursor.expect("{")?;
        cursor.end()?;
        Ok(params)
    }

    /// Returns the value of a name: a new one, or a known one of the same type.
    fn value_of(&mut self, name: String, ty: Type) -> Read<Value> {
        if let Some(&known) = self.values.get(&name) {
            let same = self.function.ty(known) == ty;
            return if same { Ok(known) } else { Err(format!("`%{name}` has two types")) };
        }
        let value = Value(self.function.values.len() as u32);
        let hint = Hint { name: Some(self.function.names.len() as u32), part: "", index: None };
        self.function.names.push(name.clone());
        self.function.values.push(ValueData { ty, hint, points_to: None });
        self.values.insert(name, value);
        Ok(value)
    }

    /// Defines the block, or the result of the instruction, of a line.
    fn define(&mut self, line: &str) -> Read<()> {
        let mut cursor = Cursor::new(line);
        if is_label(line) {
            return self.label(&mut cursor);
        }
        if cursor.peek() == Some('%') {
            let name = cursor.name('%')?;
            cursor.expect(":")?;
            let ty = ty(&mut cursor)?;
            self.value_of(name, ty)?;
        }
        Ok(())
    }

    fn label(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        let name = cursor.word();
        let block = Block(self.function.blocks.len() as u32);
        let mut data = BlockData::default();
        if name != "entry" || block.index() > 0 {
            let label = name.strip_suffix(&block.0.to_string());
            let label = label.ok_or_else(|| format!("`{name}` is block {}", block.0))?;
            data.label = Cow::Owned(label.to_owned());
        }
        if cursor.peek() == Some('(') {
            cursor.list(|cursor| {
                let name = cursor.name('%')?;
                cursor.expect(":")?;
                let ty = ty(cursor)?;
                data.params.push(self.value_of(name, ty)?);
                Ok(())
            })?;
        }
        data.cold = cursor.keyword("cold");
        cursor.expect(":")?;
        cursor.end()?;
        self.function.blocks.push(data);
        let before = self.blocks.insert(name.to_owned(), block);
        before.map_or(Ok(()), |before| Err(format!("`{name}` is {before} already")))
    }

    /// Reads an instruction or a terminator.
    fn line(&mut self, block: usize, cursor: &mut Cursor<'_>) -> Read<()> {
        if self.function.blocks[block].end.is_some() {
            return Err("the block has ended".to_owned());
        }
        let result = if cursor.peek() == Some('%') {
            let result = self.value(cursor)?;
            cursor.expect(":")?;
            ty(cursor)?;
            cursor.expect("=")?;
            Some(result)
        } else {
            None
        };
        let word = cursor.word();
        if let (None, Some(end)) = (result, self.terminator(word, cursor)?) {
            cursor.end()?;
            self.function.blocks[block].end = Some(end);
            return Ok(());
        }
        let result_type = result.map(|value| self.function.ty(value));
        let inst = self.inst(word, result_type, cursor)?;
        cursor.end()?;
        self.function.blocks[block].insts.push(Placed { result, ..Placed::from(inst) });
        Ok(())
    }

    fn terminator(&self, word: &str, cursor: &mut Cursor<'_>) -> Read<Option<Terminator>> {
        Ok(Some(match word {
            "jump" => Terminator::Jump(self.target(cursor)?),
            "branch" => {
                let cond = self.value(cursor)?;
                cursor.expect(",")?;
                let then = self.target(cursor)?;
                cursor.expect(",")?;
                Terminator::Branch { cond, then, otherwise: self.target(cursor)? }
            }
            "return" if cursor.peek().is_none() => Terminator::Return(None),
            "return" => Terminator::Return(Some(self.value(cursor)?)),
            _ => return Ok(None),
        }))
    }

    fn target(&self, cursor: &mut Cursor<'_>) -> Read<Target> {
        let name = cursor.word();
        let block = self.blocks.get(name).copied();
        let block = block.ok_or_else(|| format!("there is no block `{name}`"))?;
        let args = if cursor.peek() == Some('(') { self.values(cursor)? } else { Vec::new() };
        Ok(Target { block, args })
    }

    fn value(&self, cursor: &mut Cursor<'_>) -> Read<Value> {
        let name = cursor.name('%')?;
        self.values.get(&name).copied().ok_or_else(|| format!("`%{name}` is not defined"))
    }

    fn values(&self, cursor: &mut Cursor<'_>) -> Read<Vec<Value>> {
        let mut values = Vec::new();
        cursor.list(|cursor| {
            values.push(self.value(cursor)?);
            Ok(())
        })?;
        Ok(values)
    }

    /// Reads values separated by commas.
    fn operands<const N: usize>(&self, cursor: &mut Cursor<'_>) -> Read<[Value; N]> {
        let mut found = [Value(0); N];
        for (index, place) in found.iter_mut().enumerate() {
            if index > 0 {
                cursor.expect(",")?;
            }
            *place = self.value(cursor)?;
        }
        Ok(found)
    }

    fn align(&self, cursor: &mut Cursor<'_>) -> Read<u32> {
        cursor.expect("align")?;
        cursor.number()
    }

    /// Reads an instruction after its first word.
    fn inst(&self, word: &str, result: Option<Type>, cursor: &mut Cursor<'_>) -> Read<Inst> {
        let typed = || result.ok_or_else(|| format!("`{word}` has a result"));
        Ok(match word {
            "const" => {
                let ty = typed()?;
                Inst::Const { ty, bits: constant(ty, cursor.rest())? }
            }
            "address" => {
                let symbol = find(self.module, cursor)?;
                let offset = if cursor.peek().is_some() { cursor.offset()? } else { 0 };
                Inst::Address { symbol, offset }
            }
            "stack_slot" => Inst::StackSlot { size: cursor.number()?, align: self.align(cursor)? },
            "compare" => {
                let word = cursor.word();
                let cond = of(Cond::ALL, word)?;
                let [lhs, rhs] = self.operands(cursor)?;
                Inst::Compare { cond, lhs, rhs }
            }
            "overflowed" => Inst::Overflowed { of: self.value(cursor)? },
            "select" => {
                let [cond, then, otherwise] = self.operands(cursor)?;
                Inst::Select { cond, then, otherwise }
            }
            "call" => {
                let callee = find(self.module, cursor)?;
                Inst::Call { callee, args: self.values(cursor)? }
            }
            "call_indirect" => {
                let callee = self.value(cursor)?;
                let signature = Box::new(signature(cursor)?);
                Inst::CallIndirect { signature, callee, args: self.values(cursor)? }
            }
            _ => match self.access(word, result, cursor)? {
                Some(access) => access,
                None => self.operator(word, result, cursor)?,
            },
        })
    }

    /// Reads a memory access or pointer arithmetic; `None` if the word is neither.
    fn access(
        &self,
        word: &str,
        result: Option<Type>,
        cursor: &mut Cursor<'_>,
    ) -> Read<Option<Inst>> {
        let typed = || result.ok_or_else(|| format!("`{word}` has a result"));
        Ok(Some(match word {
            "load" => {
                let (ty, base) = (typed()?, self.value(cursor)?);
                Inst::Load { ty, base, offset: cursor.offset()?, align: self.align(cursor)? }
            }
            "store" => {
                let [value, base] = self.operands(cursor)?;
                Inst::Store { value, base, offset: cursor.offset()?, align: self.align(cursor)? }
            }
            "atomic_load" => {
                let (ty, base) = (typed()?, self.value(cursor)?);
                Inst::AtomicLoad { ty, base, offset: cursor.offset()? }
            }
            "atomic_store" => {
                let [value, base] = self.operands(cursor)?;
                Inst::AtomicStore { value, base, offset: cursor.offset()? }
            }
            "compare_exchange" => {
                let [base, expected, new] = self.operands(cursor)?;
                Inst::CompareExchange { base, expected, new }
            }
            "ptr_add" => {
                let [base, offset] = self.operands(cursor)?;
                Inst::PtrAdd { base, offset }
            }
            _ => return Ok(None),
        }))
    }

    /// Reads a conversion or arithmetic.
    fn operator(&self, word: &str, result: Option<Type>, cursor: &mut Cursor<'_>) -> Read<Inst> {
        if let Ok(op) = of(Convert::ALL, word) {
            let to = result.ok_or_else(|| format!("`{word}` has a result"))?;
            return Ok(Inst::Convert { op, value: self.value(cursor)?, to });
        }
        if let Ok(op) = of(Checked::ALL, word) {
            let [lhs, rhs] = self.operands(cursor)?;
            return Ok(Inst::Checked { op, lhs, rhs });
        }
        let op = of(Binary::ALL, word)?;
        let [lhs, rhs] = self.operands(cursor)?;
        Ok(Inst::Binary { op, lhs, rhs })
    }
}

/// Returns the operator of this word.
fn of<T: Copy + fmt::Debug>(all: &[T], word: &str) -> Read<T> {
    let found = all.iter().find(|entry| mnemonic(entry) == word);
    found.copied().ok_or_else(|| format!("`{word}` is no instruction"))
}

/// Reads the bits of a constant.
fn constant(ty: Type, text: &str) -> Read<u64> {
    let wrong = || format!("`{text}` is no constant of type {ty}");
    let hexadecimal =
        |text: &str| text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    if let Some(bits) = hexadecimal(text) {
        return bits.map_err(|_| wrong());
    }
    let signed = || text.parse::<i64>().map(|value| value as u64).map_err(|_| wrong());
    match ty {
        Type::Bool => match text {
            "true" => Ok(1),
            "false" => Ok(0),
            _ => Err(wrong()),
        },
        Type::I8 => Ok(signed()? & 0xff),
        Type::I16 => Ok(signed()? & 0xffff),
        Type::I32 => Ok(signed()? & 0xffff_ffff),
        Type::I64 => signed(),
        Type::F32 => Ok(text.parse::<f32>().map_err(|_| wrong())?.to_bits().into()),
        Type::F64 => Ok(text.parse::<f64>().map_err(|_| wrong())?.to_bits()),
        Type::Ptr if text == "null" => Ok(0),
        Type::Ptr => Err(wrong()),
    }
}
