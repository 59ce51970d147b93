//! The parser: types, results and literals.

use abi_spec::{DType, DeviceType};

use super::parser::{Parsed, Parser};
use super::reserved;
use super::suggest::names_dtype;
use super::token::Token;
use crate::declaration::limit::Limit;
use crate::declaration::{
    ANY_DTYPE, Access, Device, Dim, Element, Expr, Leaf, Literal, Mapping, ObjectClass, Output,
    ParamType, ResultType, Sequence, Shape, Strides, Tensor,
};
use crate::error::Part;

/// The number of a tensor that is no value of the signature: a result or workspace.
pub(super) const NO_VALUE: usize = usize::MAX;

impl Parser<'_> {
    /// Parses a type. The value of this type and the values nested in it are counted.
    pub(super) fn param_type(&mut self) -> Parsed<ParamType> {
        self.type_or("`Tensor` or another type such as `float32`")
    }

    /// Parses a type; `expected` names the other things that may stand here.
    pub(super) fn type_or(&mut self, expected: &str) -> Parsed<ParamType> {
        self.mark(Part::Type(self.value));
        let word = self.peek_word();
        if word == "Optional" {
            let inner = self.inside(Self::param_type)?;
            return Ok(ParamType::Optional(Box::new(inner)));
        }
        let value = self.value;
        self.value += 1;
        match word {
            "Tensor" if self.next_is(Token::OpenParen) || self.next_is(Token::OpenBracket) => {
                self.tensor(value).map(ParamType::Tensor)
            }
            "Shape" => self.shape_type(value),
            "Object" => self.class().map(ParamType::Object),
            "Array" => self.sequence(Sequence::Array),
            "List" => self.sequence(Sequence::List),
            "Map" => self.mapping(Mapping::Map),
            "Dict" => self.mapping(Mapping::Dict),
            "Tuple" => self.entries(Limit::Types, Self::element).map(ParamType::Tuple),
            "Union" => self.entries(Limit::Types, Self::param_type).map(ParamType::Union),
            "Literal" => self.entries(Limit::Literals, Self::literal).map(ParamType::Literal),
            word => {
                let ty = simple(word).ok_or_else(|| self.no_type(expected))?;
                self.advance();
                Ok(ty)
            }
        }
    }

    /// Parses `"[" rule "]"` after the current word, one level deeper.
    pub(super) fn inside<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.advance();
        self.expect(Token::OpenBracket, "`[`")?;
        let value = self.nested(rule)?;
        self.expect(Token::CloseBracket, "`]`")?;
        Ok(value)
    }

    /// Parses `"[" [ rule { "," rule } ] "]"` after the current word, one level deeper.
    pub(super) fn entries<T>(
        &mut self,
        limit: Limit,
        rule: fn(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.advance();
        self.expect(Token::OpenBracket, "`[`")?;
        self.nested(|parser| {
            parser.list(Token::CloseBracket, "`,` or `]`", limit, |parser, _| rule(parser))
        })
    }

    /// Returns the element type of a container without brackets: `Array` is `Array[Any]`.
    fn any(&mut self) -> ParamType {
        self.value += 1;
        ParamType::Leaf(Leaf::Any)
    }

    fn sequence(&mut self, sequence: Sequence) -> Parsed<ParamType> {
        if !self.next_is(Token::OpenBracket) {
            self.advance();
            return Ok(ParamType::Sequence(sequence, Box::new(self.any())));
        }
        let element = self.inside(Self::param_type)?;
        Ok(ParamType::Sequence(sequence, Box::new(element)))
    }

    fn mapping(&mut self, mapping: Mapping) -> Parsed<ParamType> {
        if !self.next_is(Token::OpenBracket) {
            self.advance();
            return Ok(ParamType::Mapping(mapping, Box::new([self.any(), self.any()])));
        }
        let types = self.inside(|parser| {
            let key = parser.param_type()?;
            parser.expect(Token::Comma, "`,`")?;
            Ok([key, parser.param_type()?])
        })?;
        Ok(ParamType::Mapping(mapping, Box::new(types)))
    }

    /// `[ name ":" ] type`; every type starts with a reserved word.
    fn element(&mut self) -> Parsed<Element> {
        let name = self.peek_name().map(str::to_owned);
        if name.is_some() {
            self.advance();
            self.expect(Token::Colon, "`:` after what is no type")?;
        }
        Ok(Element { name, ty: self.param_type()? })
    }

    /// `Object`, or `Object["my.Class"]`.
    fn class(&mut self) -> Parsed<ObjectClass> {
        self.advance();
        if !self.accept(Token::OpenBracket) {
            return Ok(ObjectClass::Any);
        }
        let key = self.quoted("the type key of a class in quotes")?;
        self.expect(Token::CloseBracket, "`]`")?;
        Ok(ObjectClass::Key(key))
    }

    /// Parses a literal: `None`, `True`, `False`, a number or text.
    pub(super) fn literal(&mut self) -> Parsed<Literal> {
        const EXPECTED: &str = "`None`, `True`, `False`, a number or text in quotes";
        if self.token == Token::Quoted {
            return self.quoted(EXPECTED).map(Literal::Str);
        }
        if self.token == Token::Word {
            return self.lookup(EXPECTED, |word| match word {
                "None" => Some(Literal::None),
                "True" => Some(Literal::Bool(true)),
                "False" => Some(Literal::Bool(false)),
                _ => None,
            });
        }
        let negative = self.accept(Token::Minus);
        if self.token == Token::Float {
            return self.float_literal(negative).map(Literal::Float);
        }
        if self.token != Token::Int {
            return Err(self.unexpected(EXPECTED));
        }
        self.int_literal(negative).map(Literal::Int)
    }

    /// Parses text in quotes.
    pub(super) fn quoted(&mut self, expected: &str) -> Parsed<String> {
        if self.token != Token::Quoted {
            return Err(self.unexpected(expected));
        }
        let text = unquote(self.slice())
            .ok_or_else(|| self.unexpected("text with no escapes but `\\\"` and `\\\\`"))?;
        self.advance();
        Ok(text)
    }
}

/// Tensors and shapes.
impl Parser<'_> {
    /// Parses a tensor type, from the word `Tensor` on.
    pub(super) fn tensor(&mut self, value: usize) -> Parsed<Tensor> {
        self.advance();
        self.no_bracket()?;
        self.expect(Token::OpenParen, "`(`")?;
        let shape = self.tensor_shape(value)?;
        self.expect(Token::Comma, "`,` and an element type")?;
        self.mark(Part::Dtype(value));
        let mut tensor = match self.dtype_symbol() {
            Some(symbol) => Tensor::of_symbol(shape, symbol),
            None => Tensor { dtype_symbol: None, ..Tensor::of_symbol(shape, "") },
        };
        if tensor.dtype_symbol.is_none() || self.accept(Token::Colon) {
            tensor.any_dtype = self.is_word(ANY_DTYPE);
            match tensor.any_dtype {
                true => self.advance(),
                false => tensor.dtypes.push(self.dtype()?),
            }
        }
        while !tensor.dtypes.is_empty() && self.accept(Token::Pipe) {
            if tensor.dtypes.len() == Limit::Dtypes.max() {
                return Err(self.excess(Limit::Dtypes));
            }
            let dtype = self.dtype()?;
            tensor.dtypes.push(dtype);
        }
        self.options(value, &mut tensor)?;
        let natural = tensor.natural_alignment();
        tensor.align = tensor.align.filter(|align| Some(*align) != natural);
        Ok(tensor)
    }

    /// Skips the symbol of an element type and returns it. A word that [names an element type](names_dtype) is none
    /// unless it is in backticks.
    fn dtype_symbol(&mut self) -> Option<String> {
        let name = self.peek_name()?;
        if self.token == Token::Word && names_dtype(name) {
            return None;
        }
        self.advance();
        Some(name.to_owned())
    }

    fn dtype(&mut self) -> Parsed<DType> {
        let word = self.peek_word();
        let dtype = word.parse().map_err(|_| self.no_type("an element type such as `float32`"))?;
        self.advance();
        Ok(dtype)
    }

    fn shape_type(&mut self, value: usize) -> Parsed<ParamType> {
        self.advance();
        if !self.accept(Token::OpenParen) {
            return Ok(ParamType::Shape(Shape::AnyRank));
        }
        let shape = self.shape(value)?;
        self.expect(Token::CloseParen, "`)`")?;
        Ok(ParamType::Shape(shape))
    }

    /// Parses the numbers of a shape: `[...]`, or dims in brackets.
    fn shape(&mut self, value: usize) -> Parsed<Shape> {
        self.expect(Token::OpenBracket, "`[`")?;
        if self.accept(Token::Ellipsis) {
            self.expect(Token::CloseBracket, "`]`")?;
            return Ok(Shape::AnyRank);
        }
        Ok(Shape::Dims(self.dims(|dim| Part::Dim(value, dim))?))
    }

    /// Parses the extents of a tensor: the forms of [`shape`](Self::shape), `[..., m, k]` and `[outer..., m, k]`.
    fn tensor_shape(&mut self, value: usize) -> Parsed<Shape> {
        let is_trailing = self.next_are([Token::Ellipsis, Token::Comma]);
        let folds = self.next_are([Token::Word, Token::Ellipsis])
            || self.next_are([Token::Name, Token::Ellipsis]);
        if !is_trailing && !folds {
            return self.shape(value);
        }
        self.expect(Token::OpenBracket, "`[`")?;
        let mut dims = Vec::new();
        if folds {
            self.mark(Part::Dim(value, 0));
            dims.push(Dim::Expr(Expr::Name(self.name("the name of all leading dims")?)));
        }
        self.advance();
        dims.extend(self.after_dots(dims.len(), |dim| Part::Dim(value, dim), folds)?);
        Ok(Shape::Trailing { folds, dims })
    }

    /// Parses the dims after `...`, up to and including `]`. There may be none if `ends` is true. `first` is the index
    /// of the first one.
    fn after_dots(
        &mut self,
        first: usize,
        part: impl Fn(usize) -> Part,
        ends: bool,
    ) -> Parsed<Vec<Dim>> {
        if ends && self.accept(Token::CloseBracket) {
            return Ok(Vec::new());
        }
        self.expect(
            Token::Comma,
            if ends { "`,` or `]`" } else { "`,` and the strides of the declared dims" },
        )?;
        if self.token == Token::CloseBracket {
            return Err(self.unexpected("a dim"));
        }
        self.dims_from(first, part)
    }

    /// Parses the dims of a shape or of strides, up to and including `]`.
    fn dims(&mut self, part: impl Fn(usize) -> Part) -> Parsed<Vec<Dim>> {
        self.dims_from(0, part)
    }

    /// Parses dims up to and including `]`. `first` is the index of the first one.
    fn dims_from(&mut self, first: usize, part: impl Fn(usize) -> Part) -> Parsed<Vec<Dim>> {
        self.list(Token::CloseBracket, "an operator, `,` or `]`", Limit::Rank, |parser, index| {
            parser.mark(part(first + index));
            if parser.is_word("_") {
                parser.advance();
                return Ok(Dim::Any);
            }
            parser.expr().map(Dim::Expr)
        })
    }

    /// Parses the options of a tensor, up to and including `)`.
    fn options(&mut self, value: usize, tensor: &mut Tensor) -> Parsed<()> {
        const OPTIONS: [&str; 5] = ["strides", "device", "align", "dtypes", "access"];
        let mut seen = [false; OPTIONS.len()];
        while self.accept(Token::Comma) {
            let option = self.slice();
            let index = OPTIONS.iter().position(|name| *name == option);
            let expected = "`strides`, `device`, `align`, `dtypes` or `access`";
            let index = index.ok_or_else(|| self.unexpected(expected))?;
            if std::mem::replace(&mut seen[index], true) {
                return Err(self.syntax("every option once", format!("a second `{option}`")));
            }
            self.advance();
            self.expect(Token::Assign, "`=`")?;
            match index {
                0 => tensor.strides = self.strides(value, &tensor.shape)?,
                1 => {
                    tensor.device =
                        self.lookup("`any` or a type of device such as `cuda`", device)?
                }
                2 => {
                    self.mark(Part::Align(value));
                    tensor.align = Some(self.int(u64::MAX, "a number of bytes")?);
                }
                3 => tensor.storage = self.lookup("`exact` or `storage`", storage)?,
                _ => tensor.access = self.lookup("`update`, `read` or `write`", Access::named)?,
            }
        }
        self.expect(Token::CloseParen, "`,` or `)`")
    }

    fn strides(&mut self, value: usize, shape: &Shape) -> Parsed<Strides> {
        let has_dots = shape.is_trailing() && !shape.folds();
        if has_dots && self.accept(Token::OpenBracket) {
            self.expect(Token::Ellipsis, "`...`, for the strides of the leading dims")?;
            return Ok(Strides::List(self.after_dots(0, |dim| Part::Stride(value, dim), false)?));
        }
        if self.accept(Token::OpenBracket) {
            return Ok(Strides::List(self.dims(|dim| Part::Stride(value, dim))?));
        }
        self.lookup("`contiguous`, `any` or `[`", |word| match word {
            "contiguous" => Some(Strides::Contiguous),
            "any" => Some(Strides::Any),
            _ => None,
        })
    }
}

/// Results.
impl Parser<'_> {
    /// Parses the result, after `->`.
    pub(super) fn result(&mut self) -> Parsed<ResultType> {
        self.mark(Part::Result);
        if self.accept(Token::OpenParen) {
            let outputs =
                self.list(Token::CloseParen, "`,` or `)`", Limit::Results, Self::output)?;
            return Ok(ResultType::Allocated(outputs));
        }
        if matches!(self.token, Token::Word | Token::Name) && self.next_is(Token::Colon) {
            return Ok(ResultType::Allocated(vec![self.output(0)?]));
        }
        if self.is_word("None") {
            self.advance();
            return Ok(ResultType::None);
        }
        const EXPECTED: &str = "`None`, a type such as `float32` or `str`, or a name and `:`";
        self.type_or(EXPECTED).map(ResultType::Value)
    }

    /// `name ":" tensor`
    fn output(&mut self, index: usize) -> Parsed<Output> {
        self.mark(Part::Output(index));
        let name = self.name("the name of a result")?;
        self.expect(Token::Colon, "`:`")?;
        if !self.is_word("Tensor") {
            return Err(self.unexpected("`Tensor`"));
        }
        Ok(Output { name, tensor: self.tensor(NO_VALUE)? })
    }
}

/// Returns the type that a single word names.
fn simple(word: &str) -> Option<ParamType> {
    if let Some(leaf) = Leaf::named(word) {
        return Some(ParamType::Leaf(leaf));
    }
    Some(match word {
        "Function" => ParamType::Object(ObjectClass::Function),
        "Module" => ParamType::Object(ObjectClass::Module),
        "Tensor" => ParamType::Object(ObjectClass::Tensor),
        other => ParamType::Scalar(reserved::scalar(other)?),
    })
}

fn device(word: &str) -> Option<Device> {
    match word {
        "any" => Some(Device::Any),
        name => name.parse::<DeviceType>().ok().map(Device::Type),
    }
}

fn storage(word: &str) -> Option<bool> {
    match word {
        "exact" => Some(false),
        "storage" => Some(true),
        _ => None,
    }
}

/// Returns the text between quotes; `None` if a backslash precedes anything but a quote or a backslash.
fn unquote(quoted: &str) -> Option<String> {
    let mut text = String::with_capacity(quoted.len());
    let mut chars = quoted[1..quoted.len() - 1].chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(chars.next().filter(|c| matches!(c, '"' | '\\'))?),
            _ => text.push(c),
        }
    }
    Some(text)
}
