//! Calls of hand-written host IR: values, errors, threads.

use std::ffi::CString;
use std::thread;

use crate::ir::{arg, compile, identity, import, runtimes, wrapper};
use tvm_ffi_codegen::ir::{Module, Type};
use tvm_ffi_codegen_jit::{Arg, Bytes, Content, DType, Device};

#[test]
fn values_pass_unchanged() {
    for runtime in runtimes() {
        let compiled = compile(runtime, &identity()).unwrap();
        let identity = compiled.function("identity").unwrap();
        let rows: [(Arg<'_>, &str); 8] = [
            (Arg::NONE, "None"),
            ((-7_i64).into(), "Int(-7)"),
            (7_i32.into(), "Int(7)"),
            (true.into(), "Bool(true)"),
            (0.5.into(), "Float(0.5)"),
            (Arg::NULL, "Pointer(0x0)"),
            (DType::FLOAT32.into(), &format!("DType({:?})", DType::FLOAT32)),
            (
                Device { id: 3, ..Device::CPU }.into(),
                &format!("Device({:?})", Device { id: 3, ..Device::CPU }),
            ),
        ];
        for (value, expected) in rows {
            assert_eq!(format!("{:?}", identity.call((value,)).unwrap()), expected);
        }
        let text = CString::new("text").unwrap();
        let returned = identity.call((text.as_c_str(),)).unwrap();
        assert!(matches!(returned.content(), Content::Borrowed(any) if any.type_index == 8));
    }
}

/// `raise(kind, message, status)` of two C strings.
fn raising() -> Module {
    let mut module = Module::default();
    wrapper(&mut module, "raise", |b| {
        let set = import(b, "TVMFFIErrorSetRaisedFromCStr", &[Type::Ptr, Type::Ptr], None);
        let (kind, message) = (arg(b, Type::Ptr, 0), arg(b, Type::Ptr, 1));
        b.call(set, &[kind, message]);
        let status = arg(b, Type::I32, 2);
        b.ret(Some(status));
    });
    wrapper(&mut module, "fail", |b| {
        let status = b.i32(-1);
        b.ret(Some(status));
    });
    module
}

#[test]
fn errors_are_taken_out_of_the_slot() {
    for runtime in runtimes() {
        let compiled = compile(runtime, &raising()).unwrap();
        let [raise, fail] = ["raise", "fail"].map(|name| compiled.function(name).unwrap());
        for (kind, message) in [("ValueError", "n = 6"), ("", ""), ("Größe", "falsch")] {
            let [kind_c, message_c] = [kind, message].map(|text| CString::new(text).unwrap());
            let args = (kind_c.as_c_str(), message_c.as_c_str(), -1);
            let error = raise.call(args).unwrap_err();
            assert_eq!((error.kind.as_str(), error.message.as_str()), (kind, message));
            assert_eq!(error.to_string(), format!("{kind}: {message}"));
        }
        let error = fail.call(()).unwrap_err();
        assert_eq!(error.to_string(), "RuntimeError: the call returned -1 without an error");
    }
}

#[test]
fn threads_call_at_the_same_time() {
    for runtime in runtimes() {
        let compiled = compile(runtime, &raising()).unwrap();
        let raise = compiled.function("raise").unwrap();
        drop(compiled);
        thread::scope(|scope| {
            for thread in 0..4 {
                let raise = raise.clone();
                scope.spawn(move || {
                    for i in 0..200 {
                        let text = CString::new(format!("{thread}.{i}")).unwrap();
                        let args = (c"Error", text.as_c_str(), -1);
                        assert_eq!(raise.call(args).unwrap_err().message, format!("{thread}.{i}"));
                    }
                });
            }
        });
    }
}

/// `str(bytes*)` and `bytes(bytes*)`: values that the runtime makes of bytes.
fn strings() -> Module {
    let mut module = Module::default();
    for (name, symbol) in
        [("str", "TVMFFIStringFromByteArray"), ("bytes", "TVMFFIBytesFromByteArray")]
    {
        wrapper(&mut module, name, |b| {
            let make = import(b, symbol, &[Type::Ptr, Type::Ptr], Some(Type::I32));
            let (bytes, result) = (arg(b, Type::Ptr, 0), b.param(crate::ir::RESULT));
            let status = b.call(make, &[bytes, result]);
            b.ret(status);
        });
    }
    module
}

#[test]
fn strings_of_any_length_come_back() {
    for runtime in runtimes() {
        let compiled = compile(runtime, &strings()).unwrap();
        for text in ["", "1234567", "12345678", "a longer text, which does not fit into a value"] {
            let value = Bytes(text.as_bytes());
            let string = compiled.function("str").unwrap().call((value,)).unwrap();
            assert_eq!(string.text().unwrap(), text);
            let bytes = compiled.function("bytes").unwrap().call((value,)).unwrap();
            assert_eq!(bytes.bytes().unwrap(), text.as_bytes());
        }
    }
}
