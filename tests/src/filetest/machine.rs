//! Calls in the machine for host IR.

use codegen::ir::Module;
use machine::{Finding, Machine, Word};

use super::call::{Argument, Call};
use super::value::Value;

/// Instructions that one call may take.
const BUDGET: u64 = 1_000_000;

/// Makes a call in a fresh machine; returns the result or the finding.
pub(super) fn run(module: &Module, call: &Call) -> Result<Value, Box<Finding>> {
    let mut machine = Machine::link(&[module], &|_| None);
    machine.budget = BUDGET;
    machine.construct()?;
    let arguments = call.arguments.iter().map(|argument| match *argument {
        Argument::Bits(_, bits) => Word::bits(bits),
        Argument::Address(symbol, offset) => machine.address(0, symbol).offset(offset),
    });
    let arguments: Vec<Word> = arguments.collect();
    let before = machine.memory.count();
    let result = machine.call(machine.address(0, call.function), &arguments)?;
    let left: Vec<&str> = machine.memory.left_since(before).collect();
    if left.is_empty() {
        Ok(call.value(result.bits))
    } else {
        Err(Finding::new(format!("left on the heap: {}", left.join(", "))))
    }
}
