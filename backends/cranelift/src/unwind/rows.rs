//! Rows of unwind tables as DWARF defines them: where the frame of a function is, and where it has saved registers.

use cranelift_codegen::binemit::CodeOffset;
use cranelift_codegen::gimli::write::{Address, CallFrameInstruction, FrameDescriptionEntry};
use cranelift_codegen::gimli::{Register, X86_64};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::isa::unwind::{CfaUnwindInfo, UnwindInfo, UnwindInst};
use cranelift_codegen::{CodegenError, CodegenResult, CompiledCode};
#[cfg(feature = "recorded")]
use serde::{Deserialize, Serialize};
use target_lexicon::{Architecture, OperatingSystem};

/// The rows of a function in an unwind table, for ELF and Mach-O.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "recorded", derive(Serialize, Deserialize))]
pub struct Rows(Form);

#[derive(Clone, Debug)]
#[cfg_attr(feature = "recorded", derive(Serialize, Deserialize))]
enum Form {
    /// For x86-64: right at every instruction.
    Exact {
        /// The length of the code, in bytes.
        length: u32,
        changes: Vec<(CodeOffset, Change)>,
    },
    /// For other machines: Cranelift's own, right in the body of the function, and so at calls.
    AtCalls(CfaUnwindInfo),
}

/// A change from one row to the next.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "recorded", derive(Serialize, Deserialize))]
enum Change {
    /// RBP is pushed: the frame ends this many bytes above RSP, and the caller's RBP is as many bytes below its end.
    Pushed(i32),
    /// RBP is where RSP was.
    Framed,
    /// A register of the caller is this far from the end of the frame.
    Saved(u16, i32),
    /// The current row is kept for [`Change::Recalled`].
    Remembered,
    /// A register has the caller's value.
    Restored(u16),
    /// RBP has the caller's value, and RSP points to the return address.
    Popped,
    /// The row that was kept last holds again.
    Recalled,
}

/// The length of `mov rbp, rsp`, which follows the push of RBP.
const MOVE: CodeOffset = 3;

/// The instructions `mov rsp, rbp`, `pop rbp` and `ret`, with which a function is left, once registers are restored.
///
/// No other code has these bytes, but for one instruction that contains them all, in a constant; rows for addresses
/// inside an instruction are never looked up. They are not spread over the end of one instruction and others: `pop rbp`
/// and `ret` occur nowhere else, and neither `mov esp, ebp` nor `in`, as which the tail of the first would be read, is
/// ever emitted.
const LEAVE: [u8; 5] = [0x48, 0x89, 0xec, 0x5d, 0xc3];

/// The place of `ret` in [`LEAVE`].
const RETURN: CodeOffset = 4;

impl Rows {
    /// Returns the rows of a function that has just been compiled; `None` for Windows, whose tables have another form.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] and [`CodegenError::RegisterMappingError`] for frames that Cranelift does not make here.
    pub fn of(isa: &dyn TargetIsa, code: &CompiledCode) -> CodegenResult<Option<Rows>> {
        let triple = isa.triple();
        if triple.operating_system == OperatingSystem::Windows {
            return Ok(None);
        }
        if triple.architecture == Architecture::X86_64 {
            let length = code.code_buffer().len() as u32;
            return Ok(Some(Rows(Form::Exact { length, changes: changes(isa, code)? })));
        }
        match code.create_unwind_info(isa)? {
            Some(UnwindInfo::SystemV(info)) => Ok(Some(Rows(Form::AtCalls(info)))),
            // Other kinds cannot be named here.
            _ => Ok(None),
        }
    }

    /// Returns the description of the function at an address.
    pub fn describe(&self, address: Address) -> FrameDescriptionEntry {
        match &self.0 {
            Form::AtCalls(info) => info.to_fde(address),
            Form::Exact { length, changes } => {
                let mut entry = FrameDescriptionEntry::new(address, *length);
                for (at, change) in changes {
                    change.instructions(|one| entry.add_instruction(*at, one));
                }
                entry
            }
        }
    }
}

impl Change {
    fn instructions(self, mut add: impl FnMut(CallFrameInstruction)) {
        match self {
            Change::Pushed(size) => {
                add(CallFrameInstruction::CfaOffset(size));
                add(CallFrameInstruction::Offset(X86_64::RBP, -size));
            }
            Change::Framed => add(CallFrameInstruction::CfaRegister(X86_64::RBP)),
            Change::Saved(register, place) => {
                add(CallFrameInstruction::Offset(Register(register), place));
            }
            Change::Remembered => add(CallFrameInstruction::RememberState),
            Change::Restored(register) => add(CallFrameInstruction::Restore(Register(register))),
            Change::Popped => {
                add(CallFrameInstruction::Cfa(X86_64::RSP, 8));
                add(CallFrameInstruction::Restore(X86_64::RBP));
            }
            Change::Recalled => add(CallFrameInstruction::RestoreState),
        }
    }
}

/// Returns the changes in a function for x86-64, by what Cranelift notes of its prologue, and by the instructions that
/// leave it, of which it notes nothing.
///
/// Cranelift's own table (0.135) has the frame only behind the code that touches its pages, in which RSP moves already,
/// and keeps it to the end, where RBP is the caller's.
fn changes(isa: &dyn TargetIsa, code: &CompiledCode) -> CodegenResult<Vec<(CodeOffset, Change)>> {
    let (mut changes, mut saved, mut lowest) = (Vec::new(), Vec::new(), 0);
    for &(at, ref inst) in &code.buffer.unwind_info {
        match *inst {
            UnwindInst::PushFrameRegs { offset_upward_to_caller_sp: size } => {
                changes.push((at, Change::Pushed(size as i32)));
                changes.push((at + MOVE, Change::Framed));
            }
            UnwindInst::DefineNewFrame {
                offset_upward_to_caller_sp: above,
                offset_downward_to_clobbers: below,
            } => lowest = -((above + below) as i32),
            UnwindInst::SaveReg { clobber_offset, reg } => {
                let register = isa.map_regalloc_reg_to_dwarf(reg.into());
                let register = register.map_err(CodegenError::RegisterMappingError)?;
                changes.push((at, Change::Saved(register, lowest + clobber_offset as i32)));
                saved.push(register);
            }
            UnwindInst::StackAlloc { .. }
            | UnwindInst::RegStackOffset { .. }
            | UnwindInst::Aarch64SetPointerAuth { .. } => {
                return Err(CodegenError::Unsupported(format!("a frame of x86-64 with {inst:?}")));
            }
        }
    }
    let Some(&(body, _)) = changes.last() else { return Ok(changes) };
    let length = code.code_buffer().len() as CodeOffset;
    for at in leaves(code.code_buffer(), body) {
        // Memory below RSP is not the function's any more, once its registers are restored.
        let from = if saved.is_empty() { at + RETURN } else { at };
        changes.push((from, Change::Remembered));
        changes.extend(saved.iter().map(|&register| (from, Change::Restored(register))));
        changes.push((at + RETURN, Change::Popped));
        let end = at + LEAVE.len() as CodeOffset;
        changes.extend((end < length).then_some((end, Change::Recalled)));
    }
    Ok(changes)
}

/// Returns the places of [`LEAVE`] in code, from one place on.
fn leaves(code: &[u8], from: CodeOffset) -> impl Iterator<Item = CodeOffset> {
    let places = (from..).zip(code[from as usize..].windows(LEAVE.len()));
    places.filter(|(_, bytes)| *bytes == LEAVE).map(|(at, _)| at)
}
