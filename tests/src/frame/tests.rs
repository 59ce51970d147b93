//! Tests that frames detect callees that break the rules of ownership.

use super::*;
use crate::argument::parse_list;
use crate::ffi::installed;
use crate::objects::take_notes;

const NESTED: &str = "(array(\"more than seven\", float32[2]{object}), list(array(function)), \
    map(\"some key of text\": array(object(69)), 2: error), dict(1: module), rvalue(array(1)), \
    rvalue(error), rvalue(null), 99999999999999999999, opaque, object(test.Child < test.Parent))";

fn frame(text: &str) -> Frame {
    let (arguments, _) = parse_list(text).unwrap();
    Frame::new(&arguments, &Ffi::new(installed())).expect("the installed runtime has all")
}

fn object(any: &Any) -> *mut Object {
    any.pointer().cast()
}

#[test]
fn what_is_left_alone_is_balanced() {
    assert!(frame(NESTED).is_balanced());
    assert!(frame("()").as_ptr().is_null());
}

/// Every object counts, wherever it is nested.
#[test]
fn references_that_are_kept_or_lost_are_found() {
    let frame = frame(NESTED);
    assert_eq!(frame.counts.len(), frame.held.len() + frame.instances.len());
    assert!(frame.counts.len() > 16);
    for Count { object, .. } in &frame.counts {
        // SAFETY: the frame keeps the object alive.
        let count = unsafe { &(**object).combined_ref_count };
        count.fetch_add(1, Ordering::Relaxed);
        assert!(!frame.is_balanced());
        count.fetch_sub(2, Ordering::Relaxed);
        assert!(!frame.is_balanced());
        count.fetch_add(1, Ordering::Relaxed);
        assert!(frame.is_balanced());
    }
}

#[test]
fn what_is_moved_out_of_a_slot_is_the_callees() {
    for text in ["(rvalue(error))", "(rvalue(array(1)))"] {
        let frame = frame(text);
        let slot = frame.args[0].pointer().cast::<*mut Object>();
        // SAFETY: the argument is the address of a slot that holds an object.
        unsafe {
            let moved = slot.replace(std::ptr::null_mut());
            assert!(!frame.is_balanced(), "and must be released");
            frame.ffi.release(moved);
            assert!(frame.is_balanced());
        }
    }
}

#[test]
fn containers_own_what_is_in_them() {
    let frame = frame("(map(\"k\": float32[2]{object}), array(error))");
    let [tensor, array] = &frame.instances[..] else { panic!("{frame:?}") };
    assert_eq!(references(&raw const tensor.header), ONE_REFERENCE + 1);
    assert_eq!(references(&raw const array.header), ONE_REFERENCE);
    assert_eq!(references(object(&frame.elements[0][0])), ONE_REFERENCE + 1);
}

#[test]
fn mappings_do_not_hold_everything() {
    for text in ["(map(1: rvalue(error)))", "(dict(1: any(70, 0)))"] {
        let (arguments, _) = parse_list(text).unwrap();
        assert!(Frame::new(&arguments, &Ffi::new(installed())).is_none(), "{text}");
    }
}

#[test]
fn functions_note_their_calls() {
    let frame = frame("(function)");
    let mut result = Any::NONE;
    // SAFETY: a live function, which ignores its arguments.
    let status = unsafe { frame.ffi.call(object(&frame.args[0]), frame.as_ptr(), 1, &mut result) };
    assert_eq!((status, result.bits()), (0, 1));
    assert_eq!(take_notes(), ["called with 1"]);
    assert!(take_notes().is_empty());
}

/// The built-in runtime makes only arguments that need no installed runtime.
#[test]
fn the_built_in_runtime_lacks_some() {
    let ffi = Ffi::new(jit::Runtime::builtin());
    let rows = [
        ("(array(list(1), shape(2)), function, error, rvalue(error), small(11, \"\", 9))", true),
        ("(map())", false),
        ("(module)", false),
        ("(opaque)", false),
        ("(99999999999999999999)", false),
        ("(array(object(test.Parent)))", false),
        ("(rvalue(1))", false),
    ];
    for (text, possible) in rows {
        let (arguments, _) = parse_list(text).unwrap();
        assert_eq!(Frame::new(&arguments, &ffi).is_some(), possible, "{text}");
    }
}
