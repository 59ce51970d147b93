//! Calls of callables: the function that builtins of Python run.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;

use jit::abi::Any;
use pyo3_ffi::{
    Py_False, Py_TYPE, Py_True, Py_ssize_t, PyCFunction_Type, PyDict_New, PyDict_SetItem,
    PyErr_ExceptionMatches, PyErr_Fetch, PyErr_NoMemory, PyErr_Restore, PyEval_RestoreThread,
    PyEval_SaveThread, PyExc_BufferError, PyObject, PyObject_Call, PyObject_CallFunctionObjArgs,
    PyTuple_GetItem, PyTuple_New, PyTuple_SetItem, PyTuple_Size,
};

use crate::arguments::{FEW, Frame, scalar};
use crate::callable::{Borrows, Callable, Made};
use crate::keywords;
use crate::object::Owned;
use crate::outcome::{self, Framework};
use crate::state::Kind;

impl Callable {
    /// True if the function takes so many positional arguments.
    #[inline]
    fn takes(&self, count: usize) -> bool {
        (self.made.required..=self.made.most).contains(&count)
    }

    /// Calls the function with arguments, so many, and others by name. NULL if an exception is set.
    ///
    /// # Safety
    /// The requirements of [`call`]: `names` is a tuple.
    #[inline(never)]
    unsafe fn call_by_name(
        &self,
        (args, positional): (*const *mut PyObject, usize),
        names: NonNull<PyObject>,
    ) -> *mut PyObject {
        let Made { required, most, description, .. } = &self.made;
        let params = &description.params;
        // SAFETY: as required above.
        unsafe {
            let named = PyTuple_Size(names.as_ptr()).unsigned_abs();
            let given = objects(args, positional + named);
            let is_complete = given.len() >= *required;
            if is_complete && keywords::in_order(params, positional, names, named) {
                return self.invoke(given);
            }
            match keywords::bind(params, given, names) {
                Some(bound) if bound.len() <= *most => self.invoke(&bound),
                Some(_) | None => self.refuse(given, Some(names)),
            }
        }
    }

    /// Calls the function with as many arguments as it takes. NULL if an exception is set.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the objects are alive until the end.
    #[inline(always)]
    unsafe fn invoke(&self, args: &[NonNull<PyObject>]) -> *mut PyObject {
        if args.len() <= FEW {
            let mut values = [const { MaybeUninit::uninit() }; FEW];
            let mut count = 0;
            for (arg, place) in args.iter().zip(&mut values) {
                // SAFETY: as required above.
                let Some(value) = (unsafe { scalar(arg.as_ptr()) }) else { break };
                place.write(value);
                count += 1;
            }
            // SAFETY: as required above; as many values are there.
            return unsafe {
                if count == args.len() {
                    let mut result = Any::NONE;
                    let status = self.enter((values.as_ptr().cast(), count as i32), &mut result);
                    return self.leave(status, &mut result, None);
                }
                self.invoke_with(&mut values, count, args)
            };
        }
        let (mut values, mut views) = (Vec::new(), Vec::new());
        if values.try_reserve_exact(args.len()).and(views.try_reserve_exact(args.len())).is_err() {
            // SAFETY: as required above.
            return unsafe { PyErr_NoMemory() };
        }
        let (values, views) = (values.spare_capacity_mut(), views.spare_capacity_mut());
        // SAFETY: as required above.
        unsafe { self.invoke_in(Frame::new(self.made.state, values, 0, views), args) }
    }

    /// Calls the function with few arguments, the first `count` of which are converted.
    ///
    /// # Safety
    /// The interpreter's lock is held, the objects are alive until the end, and the first `count` values are there.
    unsafe fn invoke_with(
        &self,
        values: &mut [MaybeUninit<Any>; FEW],
        count: usize,
        args: &[NonNull<PyObject>],
    ) -> *mut PyObject {
        let mut views = [const { MaybeUninit::uninit() }; FEW];
        let frame = Frame::new(self.made.state, values, count, &mut views);
        // SAFETY: as required above.
        unsafe { self.invoke_in(frame, args) }
    }

    /// Calls the function with arguments that a frame has room for.
    ///
    /// # Safety
    /// The requirements of [`invoke`](Callable::invoke).
    #[inline]
    unsafe fn invoke_in(&self, mut frame: Frame<'_>, args: &[NonNull<PyObject>]) -> *mut PyObject {
        let Made { description, .. } = &self.made;
        for (index, &arg) in args.iter().enumerate().skip(frame.count()) {
            let param = description.params.get(index);
            let borrows = param.map_or(Borrows::No, |param| param.borrows);
            // SAFETY: as required above; there is room for all.
            if !unsafe { frame.add(arg, borrows) } {
                drop(frame);
                // SAFETY: as required above.
                return unsafe { self.convert(args) };
            }
        }
        // SAFETY: the values are valid while the frame is.
        unsafe { self.run(&frame) }
    }

    /// Runs the function in the environment of the tensors' framework.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the frame's values are valid.
    #[inline]
    unsafe fn run(&self, frame: &Frame<'_>) -> *mut PyObject {
        let functions = &self.made.state.functions;
        let mut result = Any::NONE;
        let mut stream = ptr::null_mut();
        // SAFETY: frameworks keep their API for ever.
        let allocator = frame.framework.map(|(_, api)| unsafe { api.as_ref() }.allocator);
        let allocator = allocator.filter(|allocator| !allocator.is_null());
        let mut before = ptr::null_mut();
        // SAFETY: as required above; what is set is set back on every way.
        unsafe {
            if let Some((ty, index, wanted)) = frame.stream {
                let status = (functions.set_stream)(ty, index, wanted, &mut stream);
                if status != 0 {
                    return outcome::raise(self.made.state, status);
                }
            }
            if let Some(allocator) = allocator {
                (functions.set_allocator)(allocator, 0, &mut before);
            }
            let status = self.enter(frame.values(), &mut result);
            if let Some((ty, index, wanted)) = frame.stream
                && stream != wanted
            {
                (functions.set_stream)(ty, index, stream, ptr::null_mut());
            }
            if allocator.is_some_and(|allocator| allocator != before) {
                (functions.set_allocator)(before, 0, ptr::null_mut());
            }
            self.leave(status, &mut result, frame.framework)
        }
    }

    /// Runs the function, without the interpreter's lock if that is released. Returns its status.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the values, so many, are valid.
    #[inline]
    unsafe fn enter(&self, (values, count): (*const Any, i32), result: &mut Any) -> i32 {
        let Made { code, handle, .. } = self.made;
        // SAFETY: as required above; the lock is taken again on every way.
        unsafe {
            let thread = if self.releases != 0 { PyEval_SaveThread() } else { ptr::null_mut() };
            let status = code(handle, values, count, result);
            if !thread.is_null() {
                PyEval_RestoreThread(thread);
            }
            status
        }
    }

    /// Converts what a call has left. NULL if an exception is set.
    ///
    /// # Safety
    /// The interpreter's lock is held, and status and result are those of a call.
    #[inline(always)]
    unsafe fn leave(&self, status: i32, result: &mut Any, framework: Framework) -> *mut PyObject {
        let state = self.made.state;
        // SAFETY: as required above.
        unsafe {
            if status != 0 {
                return outcome::raise(state, status);
            }
            if result.ty() == abi_spec::TypeIndex::NONE {
                return outcome::none();
            }
            outcome::returned(state, result, framework)
        }
    }

    /// Calls the function of `tvm_ffi`, which converts the arguments. Memory that is read-only where it cannot be is
    /// refused before if its type says that it is, otherwise where `tvm_ffi` finds it.
    ///
    /// # Safety
    /// The interpreter's lock is held, and the objects are alive.
    #[cold]
    unsafe fn convert(&self, args: &[NonNull<PyObject>]) -> *mut PyObject {
        let Made { state, description, .. } = &self.made;
        // SAFETY: as required above.
        unsafe {
            let is_fixed =
                |arg: &NonNull<PyObject>| matches!(state.kind(Py_TYPE(arg.as_ptr())), Kind::Fixed);
            let Some(tuple) = tuple(args, |arg| {
                let is_builtin = Py_TYPE(arg.as_ptr()) == &raw mut PyCFunction_Type;
                let callable = if is_builtin { Callable::of(arg.as_ptr()) } else { None };
                callable.and_then(|callable| NonNull::new(callable.function)).unwrap_or(arg)
            }) else {
                return ptr::null_mut();
            };
            if args.iter().any(is_fixed) && !self.allows(&tuple, false) {
                return ptr::null_mut();
            }
            let convert = description.convert.as_ptr();
            let result = PyObject_Call(convert, tuple.as_ptr(), ptr::null_mut());
            if result.is_null() && PyErr_ExceptionMatches(PyExc_BufferError) != 0 {
                let [mut ty, mut value, mut traceback] = [ptr::null_mut(); 3];
                PyErr_Fetch(&mut ty, &mut value, &mut traceback);
                if self.allows(&tuple, true) {
                    PyErr_Restore(ty, value, traceback);
                } else {
                    drop([ty, value, traceback].map(|object| Owned::new(object)));
                }
            }
            result
        }
    }

    /// False, with an exception set, if the memory of an argument is read-only where it cannot be: see `_access.py`.
    ///
    /// # Safety
    /// The interpreter's lock is held, and no exception is set.
    #[cold]
    unsafe fn allows(&self, arguments: &Owned, failed: bool) -> bool {
        let refuse = self.made.description.refuse.as_ptr();
        let end = ptr::null_mut::<PyObject>();
        // SAFETY: as required above. The list of arguments ends with NULL.
        unsafe {
            let failed = if failed { Py_True() } else { Py_False() };
            let said = PyObject_CallFunctionObjArgs(refuse, arguments.as_ptr(), failed, end);
            Owned::new(said).is_some()
        }
    }

    /// Raises the error of arguments that do not fit the parameters: that of a function of Python.
    ///
    /// # Safety
    /// The requirements of [`call`].
    #[cold]
    unsafe fn refuse(
        &self,
        given: &[NonNull<PyObject>],
        names: Option<NonNull<PyObject>>,
    ) -> *mut PyObject {
        // SAFETY: as required above.
        unsafe {
            let count = names.map_or(0, |names| PyTuple_Size(names.as_ptr()).unsigned_abs());
            let (positional, named) = given.split_at(given.len() - count);
            let (tuple, keywords) = (tuple(positional, |arg| arg), Owned::new(PyDict_New()));
            let (Some(tuple), Some(keywords)) = (tuple, keywords) else { return ptr::null_mut() };
            for (index, object) in named.iter().enumerate() {
                let names = names.map_or(ptr::null_mut(), NonNull::as_ptr);
                let name = PyTuple_GetItem(names, index as Py_ssize_t);
                if PyDict_SetItem(keywords.as_ptr(), name, object.as_ptr()) != 0 {
                    return ptr::null_mut();
                }
            }
            let signature = self.made.description.signature.as_ptr();
            PyObject_Call(signature, tuple.as_ptr(), keywords.as_ptr())
        }
    }
}

/// Makes a tuple. `None` if an exception is set.
///
/// # Safety
/// The interpreter's lock is held, and all objects are alive.
unsafe fn tuple(
    objects: &[NonNull<PyObject>],
    mut each: impl FnMut(NonNull<PyObject>) -> NonNull<PyObject>,
) -> Option<Owned> {
    // SAFETY: as required above; every place of the new tuple is set, to a reference that it takes over.
    unsafe {
        let tuple = Owned::new(PyTuple_New(objects.len() as Py_ssize_t))?;
        for (index, &object) in objects.iter().enumerate() {
            let object = Owned::of(each(object)).into_ptr();
            PyTuple_SetItem(tuple.as_ptr(), index as Py_ssize_t, object);
        }
        Some(tuple)
    }
}

/// Calls a builtin.
///
/// # Safety
/// Python calls it: with the lock held, a callable, `count` positional objects, and one more for each of the names.
pub(crate) unsafe extern "C" fn call(
    this: *mut PyObject,
    args: *const *mut PyObject,
    count: Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: `__self__` of the builtin is a callable. It lives until the end, since the builtin does.
    let this = unsafe { &*this.cast::<Callable>() };
    let count = count.unsigned_abs();
    // SAFETY: as required above.
    unsafe {
        if let Some(names) = NonNull::new(names) {
            return this.call_by_name((args, count), names);
        }
        let given = objects(args, count);
        if this.takes(count) { this.invoke(given) } else { this.refuse(given, None) }
    }
}

/// The objects at an address, which may be anything where there are none.
///
/// # Safety
/// There are as many objects, none of which is NULL.
#[inline]
unsafe fn objects<'a>(args: *const *mut PyObject, count: usize) -> &'a [NonNull<PyObject>] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as required above.
    unsafe { slice::from_raw_parts(args.cast(), count) }
}
