//! Steps: one check or binding each, in the order in which a failure is reported.

use super::coded::coded;
use super::{Class, Coded, Head, Tail, Text};
use crate::lower::explain::extent::Topic;
use crate::lower::explain::schema::{Texts, Words, codes, record};

coded! {
    /// Steps.
    Op in step:
    /// The end of the steps.
    End {} 0 [] Tensors;
    /// Where an argument is.
    Argument { slot: u32, index: u32 } 0 [] Tensors;
    /// Where an element of a tuple is.
    Element { slot: u32, tuple: u32, index: u32 } 0 [] Values;
    /// How many words to skip unless the value is not None.
    Present { slot: u32, words: u32 } 0 [] Tensors;
    /// How many words to skip unless the symbol is bound.
    Bound { slot: u32, words: u32 } 0 [] Tensors;
    /// The handle of the call, context of a closure.
    Context { slot: u32 } 0 [] Values;
    /// Type and range of a scalar; the format of a 16-bit float.
    Scalar { head: Head, class: Class, bits: u32, signed: bool, expected: Text, mantissa: u32, bias: u32, name: Text } 0 [] Tensors;
    /// The header of a tensor. The device is 0 for any, and none if it is not checked; `many` in a loop.
    Tensor { head: Head, rank: Option<u32>, device: Option<u32>, many: bool, dtypes: Text, expected: Text } 0 [Numbers] Tensors;
    /// An extent, stride, number of a shape, or integer.
    Occurrence { head: Head, symbol: u32, shown: Text } 0 [Rule] Tensors;
    /// Compact strides.
    Compact { head: Head } 0 [] Tensors;
    /// Data and alignment.
    Data { head: Head, mask: u64 } 0 [] Tensors;
    /// A symbol that no stride has bound: coefficient and constant.
    Settle { symbol: u32, tensor: u32, dim: u32 } 0 [Expression, Expression] Expressions;
    /// A value that is owned, and whose bytes mean something.
    Owned { head: Head, expected: Text } 0 [] Values;
    /// The type of a value.
    Type { head: Head, expected: Text, low: u64, high: u64 } 0 [] Tensors;
    /// The class of an object.
    Instance { head: Head, expected: Text, key: Text } 0 [] Values;
    /// The number of elements.
    Size { head: Head, size: u32 } 0 [] Values;
    /// What text names, if it is text.
    Dtype { head: Head } 0 [] Values;
    /// What text names, if it is text.
    Device { head: Head, expected: Text } 0 [] Values;
    /// The numbers of a shape.
    Numbers { head: Head, rank: Option<u32> } 0 [] Values;
    /// One of several values.
    Literal { head: Head, expected: Text } 0 [Literals] Values;
    /// The elements of a sequence.
    Each { head: Head, depth: u32, element: u32 } 0 [Steps] Values;
    /// The entries of a mapping.
    Entries { head: Head, depth: u32, key: u32, value: u32 } 0 [Steps] Values;
    /// One of several types.
    OneOf { head: Head, expected: Text } 0 [Alternatives] Values;
    /// A condition, and the two texts that make the message.
    Constraint { before: Text, subject: Text } 0 [Leaves, Expression] Expressions;
    /// An argument of the kernel, or an extent to be allocated.
    Evaluate {} 0 [Expression] Expressions;
}
