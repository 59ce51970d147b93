//! The kernels of `kernels.c` as closures on the machine's memory.

pub(super) mod allocator;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use abi_spec::TypeIndex;
use abi_spec::layout::{ANY, byte_array, dl_tensor, function_cell, seq_cell};
use machine::runtime::Value;
use machine::{Finding, Host, Machine, Outcome, Word};

use super::notes::Notes;

/// State of the kernels between calls.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    /// Notes of the last kernel.
    pub(super) notes: Notes,
    /// Notes of functions that are arguments.
    pub(super) called: RefCell<Vec<String>>,
    /// Live objects that the kernels have made.
    objects: Cell<i64>,
    /// Live tensors of the kernels' allocator.
    tensors: Cell<i64>,
}

/// Kernels that only note their parameters: the type of each as a letter of [`note`].
const RECORDERS: &[(&str, &str)] = &[
    ("record_1", "i"),
    ("record_2", "ii"),
    ("record_3", "iii"),
    ("record_4", "iiii"),
    ("record_6", "iiiiii"),
    ("record_float", "f"),
    ("record_float_2", "ff"),
    ("record_pointer", "p"),
    ("record_pointer_2", "pp"),
    ("record_int32", "wi"),
    ("record_all", "bcswibhuUxxFfp"),
    ("record_many_floats", "fFfFfFfFfFi"),
    ("record_stream", "i"),
    ("record_tensor", "T"),
    ("record_stream_tensor", "sTi"),
    ("record_text", "t"),
    ("record_text_2", "tt"),
    ("record_text_int", "ti"),
    ("record_ints", "I"),
    ("record_ints_int", "Ii"),
    ("record_object", "o"),
    ("record_object_2", "oo"),
    ("record_any", "a"),
    ("record_any_2", "aa"),
    ("record_anys", "A"),
    ("record_int_anys", "iA"),
    ("record_dtype", "d"),
    ("record_device", "ww"),
    ("record_flag", "b"),
    ("record_flag_int", "bi"),
    ("record_flag_int32", "bw"),
    ("record_flag_bool", "bb"),
    ("record_flag_float", "bf"),
    ("record_flag_text", "bt"),
    ("record_flag_pointer", "bp"),
    ("record_flag_object", "bo"),
    ("record_flag_data", "bpi"),
    ("record_taken", "cfbibi"),
    ("write_nothing", "a"),
];

/// Returns the kernel of a name.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn kernel<'p>(name: &str, kernels: &Rc<Kernels>) -> Option<Host<'p>> {
    let k = Rc::clone(kernels);
    let recorder = RECORDERS.iter().find(|(known, _)| *known == name);
    if let Some(&(_, params)) = recorder {
        return Some(Rc::new(move |machine, args| record(machine, &k, params, args)));
    }
    if let Some(plain) = plain(name) {
        return Some(Rc::new(move |_, args| Ok(plain(args[0]))));
    }
    Some(match name {
        "record_0" => Rc::new(move |_, _| {
            k.notes.begin_anew();
            k.notes.put("called");
            Ok(Word::NULL)
        }),
        "touch" => Rc::new(|_, _| Ok(Word::NULL)),
        "record_data" => Rc::new(move |machine, args| {
            k.notes.begin_anew();
            let data = data_of(machine, args[1])?;
            k.notes.int(args[0].bits.wrapping_sub(data.bits) as i64);
            Ok(Word::NULL)
        }),
        "record_property" => Rc::new(move |machine, args| {
            k.notes.begin_anew();
            args[..4].iter().for_each(|arg| k.notes.int(arg.as_int()));
            for arg in &args[4..6] {
                let is_nan = f64::from_bits(arg.bits).is_nan();
                k.notes.put(&if is_nan { "nan".to_owned() } else { format!("{:016x}", arg.bits) });
            }
            let data = if args[7].is_null() { Word::NULL } else { data_of(machine, args[7])? };
            k.notes.int(args[6].bits.wrapping_sub(data.bits) as i64);
            Ok(Word::NULL)
        }),
        "note_1" => Rc::new(move |_, args| {
            k.notes.go_on();
            k.notes.int(args[0].as_int());
            Ok(Word::NULL)
        }),
        "ends_with_nul" => Rc::new(|machine, args| {
            let end = args[0].offset(args[1].as_int());
            Ok(Word::int((machine.memory.load(end, 1, 1)?.is_null()).into()))
        }),
        "call" => Rc::new(move |machine, args| call(machine, &k, args)),
        "add_one" => Rc::new(move |machine, args| {
            let n = args[2].as_int();
            for index in 0..n {
                let x = float_at(machine, args[0], index)?;
                store_float(machine, args[1], index, x + 1.0)?;
            }
            k.notes.begin_anew();
            for data in &args[..2] {
                k.notes.list("", || {
                    (0..n).try_for_each(|index| {
                        k.notes.float(float_at(machine, *data, index)?.into());
                        Ok(())
                    })
                })?;
            }
            Ok(Word::NULL)
        }),
        "sum" => Rc::new(|machine, args| {
            let [n, stride] = [args[1], args[2]].map(Word::as_int);
            let total = (0..n).try_fold(0.0, |total, index| {
                Ok::<f64, Box<Finding>>(
                    total + f64::from(float_at(machine, args[0], index * stride)?),
                )
            })?;
            Ok(Word::bits(total.to_bits()))
        }),
        "status" => Rc::new(move |_, args| Ok(status(&k, args[0]))),
        "status_and_error" => Rc::new(move |machine, args| {
            let status = status(&k, args[0]);
            if !status.is_null() {
                let kind = machine.memory.constant("kind", &b"KeyError\0"[..], 1);
                let text = machine.memory.constant("text", &b"the kernel's own words\0"[..], 1);
                machine.call(args[1], &[kind, text])?;
            }
            Ok(status)
        }),
        "halves_between" => Rc::new(move |_, args| {
            k.notes.begin_anew();
            [0, 1, 3].into_iter().for_each(|at| k.notes.int(args[at].as_int()));
            Ok(Word::int((f64::from_bits(args[2].bits) != 0.5).into()))
        }),
        "halves_after" => Rc::new(move |_, args| {
            k.notes.begin_anew();
            args[8..].iter().for_each(|arg| k.notes.int(arg.as_int()));
            Ok(Word::NULL)
        }),
        "store" => Rc::new(move |machine, args| {
            let status = status(&k, args[0]);
            if status.is_null() {
                let bytes = &args[1].bits.to_le_bytes()[..args[2].as_int() as usize];
                machine.memory.write(args[3], bytes, 1)?;
            }
            Ok(status)
        }),
        "store_2" => Rc::new(move |machine, args| {
            machine.memory.write(args[3], &args[1].bits.to_le_bytes(), 8)?;
            machine.memory.write(args[4], &args[2].bits.to_le_bytes()[..1], 1)?;
            Ok(status(&k, args[0]))
        }),
        "write_raw" => Rc::new(|machine, args| {
            let (index, small, payload) = (args[0].as_int32(), args[1].bits as u32, args[2]);
            machine.memory.store_any(args[3], Value { index, small, payload })?;
            Ok(Word::NULL)
        }),
        "write_status" => Rc::new(move |machine, args| {
            machine.memory.store_any(args[2], Value::new(1, args[1]))?;
            Ok(status(&k, args[0]))
        }),
        "write_object" => Rc::new(move |machine, args| {
            let [index, header] = [args[0], args[1]].map(Word::as_int32);
            let object = object(machine, &k, header, 0)?;
            machine.memory.store_any(args[2], Value::new(index, object))?;
            Ok(Word::NULL)
        }),
        "write_object_status" => Rc::new(move |machine, args| {
            let index = args[1].as_int32();
            let object = object(machine, &k, index, 0)?;
            machine.memory.store_any(args[2], Value::new(index, object))?;
            Ok(status(&k, args[0]))
        }),
        "write_text" => Rc::new(move |machine, args| {
            let size = args[1].as_int();
            let text = if size > 0 { machine.memory.read(args[0], size as usize, 1)? } else { &[] };
            let ended = [text, &[0]].concat();
            let object = object(machine, &k, TypeIndex::STR.0, size)?;
            let data = machine.memory.zeroed("text of a kernel's object", ended.len(), 1);
            machine.memory.write(data, &ended, 1)?;
            let cell = object.offset(seq_cell::DATA.in_object().into());
            let before = machine.memory.load(cell, 8, 8)?;
            machine.memory.free(before)?;
            machine.memory.store(cell, data, 8, 8)?;
            machine.memory.store_any(args[2], Value::new(TypeIndex::STR.0, object))?;
            Ok(Word::NULL)
        }),
        "write_big" => Rc::new(|machine, args| {
            let value = i128::from(args[1].as_int()) << 64 | i128::from(args[0].bits);
            let value = machine.integer(value);
            machine.memory.store_any(args[2], value)?;
            Ok(Word::NULL)
        }),
        "write_array" => Rc::new(move |machine, args| write_array(machine, &k, args)),
        "kernel_at" => Rc::new(move |machine, args| kernel_at(machine, &k, args[0].as_int())),
        "live_objects" => Rc::new(move |_, _| Ok(Word::int(k.objects.get()))),
        "live_tensors" => Rc::new(move |_, _| Ok(Word::int(k.tensors.get()))),
        "fill" => Rc::new(move |machine, args| {
            fill(machine, &k, args[0], args[1].as_int())?;
            Ok(Word::NULL)
        }),
        "fill_status" => Rc::new(move |machine, args| {
            fill(machine, &k, args[0], args[1].as_int())?;
            Ok(Word::int32(args[2].as_int32()))
        }),
        "fill_2" => Rc::new(move |machine, args| fill_both(machine, &k, args)),
        "fill_2_status" => Rc::new(move |machine, args| {
            fill_both(machine, &k, args)?;
            Ok(Word::int32(args[3].as_int32()))
        }),
        _ => return None,
    })
}

/// Returns kernels of one argument whose result depends on it alone. Bits above the width of a result are noise, which
/// callers ignore.
fn plain(name: &str) -> Option<fn(Word) -> Word> {
    let echoes = ["echo_", "noisy_", "bits_of_", "extended_"];
    if echoes.iter().any(|start| name.starts_with(start)) {
        let is_narrow = name.starts_with("extended_");
        return Some(if is_narrow {
            |word| Word::int(word.as_int32().into())
        } else {
            |word| word
        });
    }
    Some(match name {
        "negate_int8" | "negate_int16" => |word| Word::int(word.as_int().wrapping_neg()),
        "next_uint8" | "next_uint16" => |word| Word::int(word.as_int() + 1),
        "is_odd" => |word| Word::int(word.as_int() & 1),
        "float32_of_bits" => |word| Word::bits(word.bits & 0xffff_ffff),
        "float64_of_bits" => |word| word,
        _ => return None,
    })
}

/// Kernels that `kernel_at` returns, by number.
const BY_NUMBER: [&str; 6] =
    ["echo_int64", "status", "negate_int8", "record_1", "write_text", "echo_float32"];

/// Returns the address of a kernel by its number from 1, else NULL.
fn kernel_at(machine: &mut Machine<'_>, kernels: &Rc<Kernels>, number: i64) -> Outcome {
    let index = usize::try_from(number - 1).ok();
    let Some(name) = index.and_then(|index| BY_NUMBER.get(index)) else { return Ok(Word::NULL) };
    let host = kernel(name, kernels).expect("it is a kernel");
    Ok(machine.host(name, None, host))
}

fn record(machine: &mut Machine<'_>, k: &Kernels, params: &str, args: &[Word]) -> Outcome {
    k.notes.begin_anew();
    let mut args = args.iter().copied();
    let mut stream = None;
    for letter in params.bytes() {
        let arg = args.next().or(stream).unwrap_or_default();
        match letter {
            // The stream is the first parameter and the last note.
            b's' if params.starts_with('s') => stream = Some(arg),
            b't' | b'I' | b'A' => {
                let size = args.next().unwrap_or_default().as_int();
                match letter {
                    b't' => k.notes.text(machine, arg, size)?,
                    b'I' => k.notes.ints(machine, "", arg, size)?,
                    _ => k.notes.values(machine, "", arg, size)?,
                }
            }
            _ => note(machine, &k.notes, letter, arg)?,
        }
    }
    Ok(Word::NULL)
}

/// Notes an argument by its type in C: `b` `c` `s` `w` `i` integers of 8 (unsigned and signed), 16, 32 and 64
/// bits, `h` `u` `U` unsigned ones, `x` 16 bits in hexadecimal, `F` and `f` floats, `p` a pointer, `T` a tensor,
/// `o` an object, `a` a value, `d` an element type. Narrow integers come extended, as C's compilers expect.
fn note(machine: &Machine<'_>, notes: &Notes, letter: u8, arg: Word) -> Result<(), Box<Finding>> {
    match letter {
        b'b' | b'c' | b's' | b'h' | b'i' => notes.int(arg.as_int()),
        b'w' => notes.int(arg.as_int32().into()),
        b'u' => notes.int((arg.bits as u32).into()),
        b'U' => notes.put(&arg.bits.to_string()),
        b'x' => notes.put(&format!("0x{:04x}", arg.bits as u16)),
        b'F' => notes.float(f32::from_bits(arg.bits as u32).into()),
        b'f' => notes.float(f64::from_bits(arg.bits)),
        b'p' => notes.pointer(arg),
        b'T' => tensor(machine, notes, arg)?,
        b'o' => notes.object(machine, arg)?,
        b'a' => notes.value_at(machine, arg)?,
        b'd' => notes.dtype(arg.bits),
        other => unreachable!("{} is no letter", other as char),
    }
    Ok(())
}

fn tensor(machine: &Machine<'_>, notes: &Notes, at: Word) -> Result<(), Box<Finding>> {
    let field = |offset: i32, size: usize| machine.memory.load(at.offset(offset.into()), size, 4);
    let rank = field(dl_tensor::NDIM.offset, 4)?.as_int32();
    notes.int(rank.into());
    notes.int(field(dl_tensor::DEVICE_TYPE.offset, 4)?.as_int32().into());
    notes.int(field(dl_tensor::DEVICE_ID.offset, 4)?.as_int32().into());
    let shape = field(dl_tensor::SHAPE.offset, 8)?;
    (0..i64::from(rank)).try_for_each(|dim| {
        notes.int(machine.memory.load(shape.offset(8 * dim), 8, 8)?.as_int());
        Ok(())
    })
}

fn data_of(machine: &Machine<'_>, tensor: Word) -> Result<Word, Box<Finding>> {
    machine.memory.load(tensor.offset(dl_tensor::DATA.offset.into()), 8, 8)
}

fn float_at(machine: &Machine<'_>, data: Word, index: i64) -> Result<f32, Box<Finding>> {
    let word = machine.memory.load(data.offset(4 * index), 4, 4)?;
    Ok(f32::from_bits(word.bits as u32))
}

fn store_float(
    machine: &mut Machine<'_>,
    data: Word,
    index: i64,
    value: f32,
) -> Result<(), Box<Finding>> {
    let word = Word::bits(value.to_bits().into());
    machine.memory.store(data.offset(4 * index), word, 4, 4)
}

fn status(k: &Kernels, code: Word) -> Word {
    k.notes.begin_anew();
    k.notes.int(code.as_int());
    Word::int32(code.as_int32())
}

/// Calls a function with one argument and passes its error on.
fn call(machine: &mut Machine<'_>, k: &Kernels, args: &[Word]) -> Outcome {
    let values = machine.memory.variable("argument of a kernel's", vec![0; 16], 8);
    let result = machine.memory.variable("result of a kernel's", vec![0; 16], 8);
    machine.memory.store_any(values, Value::new(TypeIndex::INT.0, args[1]))?;
    let at = args[0].offset(function_cell::SAFE_CALL.in_object().into());
    let function = machine.memory.load(at, 8, 8)?;
    let status = machine.call(function, &[args[0], values, Word::int32(1), result])?;
    k.notes.begin_anew();
    if status.is_null() {
        let value = machine.memory.load_any(result)?;
        k.notes.value(machine, value)?;
    } else {
        k.notes.put("failed");
    }
    Ok(status)
}

/// Makes an object with the layout of a sequence and no elements.
fn object<'p>(
    machine: &mut Machine<'p>,
    kernels: &Rc<Kernels>,
    index: i32,
    size: i64,
) -> Result<Word, Box<Finding>> {
    let k = Rc::clone(kernels);
    let deleter: Host<'p> = Rc::new(move |machine, args| {
        let data = machine.memory.load(args[0].offset(seq_cell::DATA.in_object().into()), 8, 8)?;
        let index = machine.memory.load(args[0].offset(8), 4, 4)?.as_int32();
        if index == TypeIndex::ARRAY.0 {
            let size =
                machine.memory.load(args[0].offset(seq_cell::SIZE.in_object().into()), 8, 8)?;
            for element in machine.memory.load_anys(data, size.as_int())? {
                machine.release_value(element)?;
            }
        }
        machine.memory.free(data)?;
        machine.memory.free(args[0])?;
        k.objects.set(k.objects.get() - 1);
        Ok(Word::NULL)
    });
    let deleter = machine.host("(the deleter of a kernel's object)", None, deleter);
    let object = machine.object_with(index, "a kernel's object", 64, deleter);
    let data = machine.memory.zeroed("elements of a kernel's object", 4 * ANY.size as usize, 8);
    let cell = object.offset(seq_cell::DATA.in_object().into());
    machine.memory.store(cell, data, 8, 8)?;
    machine.memory.store(cell.offset(byte_array::SIZE.offset.into()), Word::int(size), 8, 8)?;
    kernels.objects.set(kernels.objects.get() + 1);
    Ok(object)
}

/// Writes an array of up to two elements: 7, or new objects.
fn write_array(machine: &mut Machine<'_>, kernels: &Rc<Kernels>, args: &[Word]) -> Outcome {
    let size = args[2].as_int();
    let array = object(machine, kernels, TypeIndex::ARRAY.0, size)?;
    let cell = array.offset(seq_cell::DATA.in_object().into());
    let data = machine.memory.load(cell, 8, 8)?;
    for position in 0..size {
        let index = args[(position % 2) as usize].as_int32();
        let value = if index >= 64 {
            Value::new(index, object(machine, kernels, index, 0)?)
        } else {
            Value::new(index, Word::int(if index == 1 { 7 } else { 0 }))
        };
        machine.memory.store_any(data.offset(position * i64::from(ANY.size)), value)?;
    }
    machine.memory.store_any(args[3], Value::new(TypeIndex::ARRAY.0, array))?;
    Ok(Word::NULL)
}

fn fill(machine: &mut Machine<'_>, k: &Kernels, out: Word, n: i64) -> Result<(), Box<Finding>> {
    k.notes.begin_anew();
    k.notes.int(n);
    (0..n).try_for_each(|index| store_float(machine, out, index, index as f32))
}

fn fill_both(machine: &mut Machine<'_>, k: &Kernels, args: &[Word]) -> Outcome {
    let n = args[2].as_int();
    fill(machine, k, args[0], n)?;
    for index in 0..n {
        let value = Word::int32((n - index) as i32);
        machine.memory.store(args[1].offset(4 * index), value, 4, 4)?;
    }
    Ok(Word::NULL)
}
