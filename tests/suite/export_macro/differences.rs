//! Differences from the C++ export macro and their reasons.

/// The only side that accepts a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Only {
    Ours,
    Macro,
}

/// Functions and values with the same difference.
pub(super) struct Difference {
    pub(super) accepts: Only,
    pub(super) functions: &'static [&'static str],
    pub(super) values: &'static [&'static str],
    pub(super) reason: &'static str,
}

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        accepts: Only::Macro,
        functions: &["uint8", "uint16", "uint32", "uint64"],
        values: &["-1", "-128", "-129", "-32769", "-2147483649", "-9223372036854775808"],
        reason: "the macro cuts integers off",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["int8"],
        values: &["-129", "128", "255"],
        reason: "the macro cuts integers off",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["int8", "uint8"],
        values: &["256", "32768", "65535"],
        reason: "the macro cuts integers off",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["int16"],
        values: &["32768", "65535"],
        reason: "the macro cuts integers off",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["int8", "int16"],
        values: &["-32769"],
        reason: "the macro cuts integers off",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["int8", "int16", "uint8", "uint16"],
        values: &["65536"],
        reason: "the macro cuts integers off",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["int8", "int16", "int32"],
        values: &["-2147483649", "-9223372036854775808"],
        reason: "the macro cuts integers off",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["int8", "int16", "int32", "uint8", "uint16"],
        values: &["2147483648", "4294967295"],
        reason: "the macro cuts integers off",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["int8", "int16", "int32", "uint8", "uint16", "uint32"],
        values: &["4294967296", "9223372036854775807"],
        reason: "the macro cuts integers off",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["tensor_view", "dl_tensor"],
        values: &[
            "float32[2]{strides=[3]}",
            "float32[2]{data=2}",
            "float32[2]{data=null}",
            "float32[2]{device=cuda}",
            "int8[0]{object}",
        ],
        reason: "the macro checks neither element type nor device, layout nor data",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["tensor", "optional_tensor"],
        values: &["int8[0]{object}"],
        reason: "the macro does not check the element type",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["dl_tensor"],
        values: &["any(7, 0)"],
        reason: "a tensor that is NULL is no tensor",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["tensor", "function", "object", "thing"],
        values: &["none"],
        reason: "the macro's references may be NULL; we have Optional for that",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["array_tensor"],
        values: &["array(none)"],
        reason: "the macro's references may be NULL; we have Optional for that",
    },
    Difference {
        accepts: Only::Ours,
        functions: &["uint64", "ptr"],
        values: &["9223372036854775808"],
        reason: "64 bits are 64 bits, also in an object",
    },
    Difference {
        accepts: Only::Ours,
        functions: &["tensor", "optional_tensor"],
        values: &["float32[2, 3]", "float32[]"],
        reason: "we borrow, so that a `DLTensor*` will do",
    },
    Difference {
        accepts: Only::Ours,
        functions: &["array_tensor"],
        values: &["array(float32[2])"],
        reason: "we borrow, so that a `DLTensor*` will do",
    },
    Difference {
        accepts: Only::Ours,
        functions: &[
            "array_any",
            "array_int",
            "list_int",
            "object",
            "optional_array_int",
            "optional_shape",
            "shape",
            "tuple_int",
            "variant_float_array",
        ],
        values: &["rvalue(array(1))"],
        reason: "we borrow what the slot holds, of whatever class",
    },
    Difference {
        accepts: Only::Ours,
        functions: &["function", "optional_function", "object"],
        values: &["rvalue(function)"],
        reason: "we borrow what the slot holds, of whatever class",
    },
    Difference {
        accepts: Only::Ours,
        functions: &["thing", "optional_thing", "object"],
        values: &["rvalue(object(test.Thing))"],
        reason: "we borrow what the slot holds, of whatever class",
    },
    Difference {
        accepts: Only::Ours,
        functions: &["object"],
        values: &["rvalue(float32[2]{object})"],
        reason: "we borrow what the slot holds, of whatever class",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["device", "optional_device"],
        values: &["\"cuda:1 \""],
        reason: "blanks are no part of an index",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["device", "optional_device"],
        values: &["\"ext_dev:2147483647\""],
        reason: "an index has at most nine digits",
    },
    Difference {
        accepts: Only::Macro,
        functions: &["dtype", "optional_dtype"],
        values: &["\"\"", "bytes(\"\")", "raw(\"\")"],
        reason: "the empty text names no element type",
    },
];
