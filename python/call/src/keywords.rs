//! Arguments by the names of parameters, as a `def` of the same signature binds them.

use std::ptr::NonNull;

use pyo3_ffi::{PyObject, PyTuple_GetItem, PyTuple_Size, PyUnicode_Compare};
use smallvec::SmallVec;

use crate::callable::Param;

/// Objects in the order of the parameters.
pub(crate) type Bound = SmallVec<[NonNull<PyObject>; 16]>;

/// Puts positional arguments and keywords in order, with defaults between them. What is left out after the last one is
/// left out of the result. `None` if they do not fit the parameters.
///
/// # Safety
/// The interpreter's lock is held, `names` is a tuple of `str`, and all objects are alive. `given` has the positional
/// arguments, then one for each name.
pub(crate) unsafe fn bind(
    params: &[Param],
    given: &[NonNull<PyObject>],
    names: NonNull<PyObject>,
) -> Option<Bound> {
    // SAFETY: `names` is a tuple.
    let count = unsafe { PyTuple_Size(names.as_ptr()) }.unsigned_abs();
    let (positional, named) = given.split_at(given.len().checked_sub(count)?);
    let mut slots: SmallVec<[Option<NonNull<PyObject>>; 16]> = SmallVec::new();
    slots.extend(positional.iter().copied().map(Some));
    for (index, &object) in named.iter().enumerate() {
        // SAFETY: `names` is a tuple of `count` objects.
        let name = unsafe { PyTuple_GetItem(names.as_ptr(), index as isize) };
        // SAFETY: it has texts.
        let index = unsafe { find(params, name, positional.len() + index) }?;
        if index >= slots.len() {
            slots.resize(index + 1, None);
        }
        if slots[index].replace(object).is_some() {
            return None;
        }
    }
    let is_complete = params.iter().skip(slots.len()).all(|param| param.default.is_some());
    let slots = slots.into_iter().enumerate();
    let bound = slots.map(|(index, slot)| slot.or_else(|| params.get(index)?.default()));
    bound.collect::<Option<Bound>>().filter(|_| is_complete)
}

/// True if the names are those of the parameters after the positional arguments, in order: then the arguments are in
/// order.
///
/// # Safety
/// The interpreter's lock is held, and `names` is a tuple of `count` objects.
#[inline]
pub(crate) unsafe fn in_order(
    params: &[Param],
    positional: usize,
    names: NonNull<PyObject>,
    count: usize,
) -> bool {
    let Some(params) = params.get(positional..positional + count) else { return false };
    params.iter().enumerate().all(|(index, param)| {
        // SAFETY: as required above. Names in the source of a program are interned, as those of parameters are.
        unsafe { PyTuple_GetItem(names.as_ptr(), index as isize) == param.name.as_ptr() }
    })
}

/// Returns the index of the parameter of a name. Looks at a likely one first.
///
/// # Safety
/// The interpreter's lock is held, and `name` is a `str`.
unsafe fn find(params: &[Param], name: *mut PyObject, likely: usize) -> Option<usize> {
    let is_same = |param: &Param| param.name.as_ptr() == name;
    if params.get(likely).is_some_and(is_same) {
        return Some(likely);
    }
    params.iter().position(is_same).or_else(|| {
        // SAFETY: both are texts, so that there is no exception.
        let is_equal = |param: &Param| unsafe { PyUnicode_Compare(param.name.as_ptr(), name) } == 0;
        params.iter().position(is_equal)
    })
}
