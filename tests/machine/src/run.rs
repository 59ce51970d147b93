//! Execution of functions.

use std::borrow::Cow;

use codegen::ir::{
    AbiType, Block, Convert, Extend, Function, Inst, Placed, Signature, Target, Terminator, Type,
    Value,
};

use crate::arithmetic::{binary, checked, compare, convert, truncate};
use crate::finding::{Finding, ensure};
use crate::link::{Code, Linked, Machine};
use crate::word::Word;

/// Result of a function: 0 if it returns nothing.
pub type Outcome = Result<Word, Box<Finding>>;

/// Maximal depth of calls.
const DEPTH: usize = 200;

/// A call of a function of host IR.
struct Frame<'p> {
    module: usize,
    function: &'p Function,
    values: Vec<Word>,
    slots: Vec<Word>,
    /// The flag of the checked arithmetic just before.
    overflowed: bool,
}

impl<'p> Machine<'p> {
    /// Calls a function by its address, with arguments that fit its signature.
    ///
    /// # Errors
    /// The finding of the machine.
    pub fn call(&mut self, function: Word, args: &[Word]) -> Outcome {
        self.enter(function, None, args)
    }

    fn enter(&mut self, function: Word, wanted: Option<&Signature>, args: &[Word]) -> Outcome {
        ensure(self.depth < DEPTH, || format!("{DEPTH} calls are nested"))?;
        self.depth += 1;
        let outcome = self.dispatch(function, wanted, args);
        self.depth -= 1;
        outcome
    }

    fn dispatch(&mut self, function: Word, wanted: Option<&Signature>, args: &[Word]) -> Outcome {
        let number = self.memory.function(function)? as usize;
        let entry = &self.functions[number];
        match &entry.code {
            Code::Undefined => {
                Err(Finding::new(format!("`{}` is called and undefined", entry.name)))
            }
            Code::Ir { module, function } => {
                let (module, function) = (*module, *function);
                let function = &self.modules[module].module.functions[function];
                agrees(&entry.name, wanted, Some(&function.signature))?;
                self.run(module, function, args)
            }
            Code::Host { run, signature, failing } => {
                agrees(&entry.name, wanted, signature.as_ref())?;
                let (run, failing, name) = (run.clone(), *failing, entry.name.clone());
                // Faults hit only calls from host IR, which state a signature.
                let injected = match wanted {
                    Some(_) => self.injected(&name, failing, args)?,
                    None => None,
                };
                match injected {
                    Some(result) => Ok(result),
                    None => run(self, &extended(wanted, args)).map_err(|mut finding| {
                        finding.trace.push(format!("in {name}({})", self.listed(args)));
                        finding
                    }),
                }
            }
        }
    }

    fn run(&mut self, module: usize, function: &'p Function, args: &[Word]) -> Outcome {
        let mut values = self.spare.pop().unwrap_or_default();
        values.clear();
        values.resize(function.values.len(), Word::NULL);
        let mut frame = Frame { module, function, values, slots: Vec::new(), overflowed: false };
        let truths = function.signature.params.iter().zip(args);
        for (param, arg) in truths.filter(|(param, _)| param.extend == Extend::Truth) {
            ensure(arg.bits <= 1, || format!("{param} is passed {}", arg.bits))?;
        }
        for (param, &arg) in function.blocks[0].params.iter().zip(args) {
            frame.values[param.index()] = arg;
        }
        let result = self.blocks(&mut frame);
        for slot in &frame.slots {
            self.memory.end(*slot);
        }
        self.spare.push(frame.values);
        result
    }

    fn blocks(&mut self, frame: &mut Frame<'p>) -> Outcome {
        let mut at = 0;
        loop {
            let block = &frame.function.blocks[at];
            for (position, Placed { result, inst, .. }) in block.insts.iter().enumerate() {
                match self.inst(frame, inst) {
                    Ok(word) => {
                        if let Some(value) = result {
                            frame.values[value.index()] = word;
                        }
                    }
                    Err(mut finding) => {
                        finding.trace.push(self.place(frame, at, Some(position)));
                        return Err(finding);
                    }
                }
            }
            self.budget = self.budget.saturating_sub(block.insts.len() as u64 + 1);
            if self.budget == 0 {
                let mut finding = Finding::new("the budget of instructions is used up");
                finding.trace.push(self.place(frame, at, None));
                return Err(finding);
            }
            let target = match block.end.as_ref().expect("verified blocks end") {
                Terminator::Jump(target) => target,
                Terminator::Branch { cond, then, otherwise } => {
                    if frame.values[cond.index()].bits != 0 { then } else { otherwise }
                }
                Terminator::Return(value) => {
                    return Ok(value.map_or(Word::NULL, |value| frame.values[value.index()]));
                }
            };
            at = frame.enter(target);
        }
    }

    fn inst(&mut self, frame: &mut Frame<'p>, inst: &'p Inst) -> Outcome {
        let value = |value: Value| frame.values[value.index()];
        let ty = |value: Value| frame.function.values[value.index()].ty;
        match inst {
            Inst::Const { ty, bits } => Ok(Word::bits(truncate(*ty, *bits))),
            Inst::Address { symbol, offset } => {
                let base = self.modules[frame.module].addresses[symbol.index()];
                Ok(base.offset(i64::from(*offset)))
            }
            Inst::StackSlot { size, align } => {
                let slot =
                    self.memory.uninitialised("stack slot", *size as usize, u64::from(*align));
                frame.slots.push(slot);
                Ok(slot)
            }
            Inst::Load { ty, base, offset, align } => {
                let at = value(*base).offset(i64::from(*offset));
                self.memory.check_plain(at, ty.bytes() as usize)?;
                self.memory.load(at, ty.bytes() as usize, u64::from(*align))
            }
            Inst::Store { value: stored, base, offset, align } => {
                let at = value(*base).offset(i64::from(*offset));
                let size = ty(*stored).bytes() as usize;
                self.memory.check_plain(at, size)?;
                self.memory.store(at, value(*stored), size, u64::from(*align))?;
                Ok(Word::NULL)
            }
            Inst::AtomicLoad { ty, base, offset } => {
                let (at, size) = (value(*base).offset(i64::from(*offset)), ty.bytes());
                self.memory.load(at, size as usize, u64::from(size))
            }
            Inst::AtomicStore { value: stored, base, offset } => {
                let (at, size) = (value(*base).offset(i64::from(*offset)), ty(*stored).bytes());
                self.memory.store(at, value(*stored), size as usize, u64::from(size))?;
                self.memory.share(at);
                Ok(Word::NULL)
            }
            Inst::CompareExchange { base, expected, new } => {
                let (at, size) = (value(*base), ty(*new).bytes());
                let found = self.memory.load(at, size as usize, u64::from(size))?;
                self.memory.share(at);
                if found.bits == value(*expected).bits {
                    self.memory.store(at, value(*new), size as usize, u64::from(size))?;
                }
                Ok(found)
            }
            Inst::PtrAdd { base, offset } => {
                let (base, offset) = (value(*base), value(*offset));
                let bits = base.bits.wrapping_add(offset.bits);
                Ok(Word { bits, origin: base.origin.or(offset.origin) })
            }
            Inst::Binary { op, lhs, rhs } => binary(*op, ty(*lhs), value(*lhs), value(*rhs)),
            Inst::Checked { op, lhs, rhs } => {
                let (word, overflowed) = checked(*op, value(*lhs), value(*rhs));
                frame.overflowed = overflowed;
                Ok(word)
            }
            Inst::Overflowed { .. } => Ok(Word::bits(u64::from(frame.overflowed))),
            Inst::Compare { cond, lhs, rhs } => {
                let holds = compare(*cond, ty(*lhs), value(*lhs), value(*rhs));
                Ok(Word::bits(u64::from(holds)))
            }
            Inst::Select { cond, then, otherwise } => {
                Ok(if value(*cond).bits != 0 { value(*then) } else { value(*otherwise) })
            }
            Inst::Convert { op, value: from, to } => Ok(convert(*op, ty(*from), value(*from), *to)),
            Inst::Call { callee, args } => {
                let args: Vec<Word> = args.iter().map(|&arg| value(arg)).collect();
                let Linked { module, addresses } = &self.modules[frame.module];
                let (module, callee, symbol) = (*module, addresses[callee.index()], *callee);
                self.enter_checked(callee, module.signature(symbol), &args)
            }
            Inst::CallIndirect { signature, callee, args } => {
                let args: Vec<Word> = args.iter().map(|&arg| value(arg)).collect();
                self.enter_checked(value(*callee), Some(signature), &args)
            }
        }
    }

    /// Calls a function and truncates its result to its type.
    fn enter_checked(
        &mut self,
        callee: Word,
        signature: Option<&Signature>,
        args: &[Word],
    ) -> Outcome {
        let result = self.enter(callee, signature, args)?;
        let ty = signature.and_then(|signature| signature.result).map(|result| result.ty);
        // Callers ignore the bits that a kernel leaves above the width of its result.
        Ok(ty.map_or(Word::NULL, |ty| Word { bits: truncate(ty, result.bits), ..result }))
    }

    /// Lists values in findings.
    fn listed(&self, values: &[Word]) -> String {
        let texts: Vec<String> = values.iter().map(|&word| self.memory.describe(word)).collect();
        texts.join(", ")
    }

    /// Describes an instruction or the end of a block: its text, the values, its position.
    fn place(&self, frame: &Frame<'p>, block: usize, position: Option<usize>) -> String {
        let Frame { module, function, .. } = frame;
        let name = self.modules[*module].module.name(function.symbol);
        let (block, data) = function.blocks().nth(block).expect("it is running");
        let label = function.label(block);
        let Some(position) = position else { return format!("end of {label} of @{name}") };
        let names = function.value_names();
        let Placed { inst, .. } = &data.insts[position];
        let mut operands = Vec::new();
        inst.operands(|value| {
            let word = frame.values[value.index()];
            operands.push(format!("%{} = {}", names[value.index()], self.memory.describe(word)));
        });
        let callee = inst.symbol().map(|symbol| self.modules[*module].module.name(symbol));
        let callee = callee.map_or(String::new(), |name| format!(" @{name}"));
        let verb = verb(inst);
        format!("{verb}{callee} [{}] in {label} of @{name}, {position}", operands.join(", "))
    }
}

impl Frame<'_> {
    /// Assigns the parameters of a block; returns the block.
    fn enter(&mut self, target: &Target) -> usize {
        let Target { block, args } = target;
        let params = &self.function.blocks[block.index()].params;
        match (&params[..], &args[..]) {
            ([], []) => {}
            ([param], [arg]) => self.values[param.index()] = self.values[arg.index()],
            _ => {
                let values: Vec<Word> = args.iter().map(|arg| self.values[arg.index()]).collect();
                for (param, value) in params.iter().zip(values) {
                    self.values[param.index()] = value;
                }
            }
        }
        Block::index(*block)
    }
}

/// Returns the name of an instruction in findings.
fn verb(inst: &Inst) -> String {
    match inst {
        Inst::Const { .. } => "const".into(),
        Inst::Address { .. } => "address".into(),
        Inst::StackSlot { .. } => "stack_slot".into(),
        Inst::Load { ty, offset, .. } => format!("load {ty} at {offset:+}"),
        Inst::Store { offset, .. } => format!("store at {offset:+}"),
        Inst::AtomicLoad { ty, offset, .. } => format!("atomic_load {ty} at {offset:+}"),
        Inst::AtomicStore { offset, .. } => format!("atomic_store at {offset:+}"),
        Inst::CompareExchange { .. } => "compare_exchange".into(),
        Inst::PtrAdd { .. } => "ptr_add".into(),
        Inst::Binary { op, .. } => format!("{op:?}").to_lowercase(),
        Inst::Checked { op, .. } => format!("{op:?}").to_lowercase(),
        Inst::Overflowed { .. } => "overflowed".into(),
        Inst::Compare { cond, .. } => format!("compare {cond:?}").to_lowercase(),
        Inst::Select { .. } => "select".into(),
        Inst::Convert { op, .. } => format!("{op:?}").to_lowercase(),
        Inst::Call { .. } => "call".into(),
        Inst::CallIndirect { .. } => "call_indirect".into(),
    }
}

/// Extends narrow integers to 64 bits as their parameters' attributes say, as functions in C expect.
fn extended<'a>(signature: Option<&Signature>, args: &'a [Word]) -> Cow<'a, [Word]> {
    let is_signed = |param: &AbiType| param.extend == Extend::Sign;
    let Some(signature) = signature.filter(|signature| signature.params.iter().any(is_signed))
    else {
        return Cow::Borrowed(args);
    };
    let each = signature.params.iter().zip(args).map(|(param, &arg)| match is_signed(param) {
        true => convert(Convert::Sext, param.ty, arg, Type::I64),
        false => arg,
    });
    each.collect()
}

/// Checks that a caller and a function agree about the types of arguments and result.
fn agrees(
    name: &str,
    wanted: Option<&Signature>,
    found: Option<&Signature>,
) -> Result<(), Box<Finding>> {
    let (Some(wanted), Some(found)) = (wanted, found) else { return Ok(()) };
    let types = |signature: &Signature| -> (Vec<Type>, Option<Type>) {
        let params = signature.params.iter().map(|param| param.ty).collect();
        (params, signature.result.map(|result| result.ty))
    };
    ensure(types(wanted) == types(found), || format!("`{name}`{found} is called as {wanted}"))
}
