//! The syntax: kernels with vectors of `float32` and numbers, whose statements are for one element.

/// A kernel: `kernel axpy(a: f64, x: f32[n], y: f32[n]) where n % 4 == 0:`, and the lines below it.
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) params: Vec<Param>,
    /// The text of the condition on sizes.
    pub(crate) condition: Option<String>,
    pub(crate) body: Vec<Assign>,
}

/// A parameter: `x: f32[n]`, or `a: f64`.
pub(crate) struct Param {
    pub(crate) name: String,
    /// The name of the size of a vector; `None` for a number.
    pub(crate) size: Option<String>,
}

/// A statement: `y = a * x + y`.
pub(crate) struct Assign {
    pub(crate) line: u32,
    pub(crate) target: String,
    pub(crate) value: Value,
}

/// An expression.
pub(crate) enum Value {
    Number(f64),
    Name(String),
    Binary(char, Box<Value>, Box<Value>),
}

/// Parses a file. The error is the number of a line, and what was expected there.
pub(crate) fn parse(text: &str) -> Result<Vec<Kernel>, (u32, String)> {
    let mut kernels: Vec<Kernel> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default();
        let mut rest = Rest(text.trim());
        let error = |expected: &str| (line, format!("expected {expected}"));
        if rest.0.is_empty() {
            continue;
        }
        if !text.starts_with(char::is_whitespace) {
            kernels.push(rest.kernel(line).map_err(error)?);
        } else if let Some(kernel) = kernels.last_mut() {
            kernel.body.push(rest.assign(line).map_err(error)?);
        } else {
            return Err(error("a kernel"));
        }
        if !rest.0.is_empty() {
            return Err((line, format!("unexpected `{}`", rest.0)));
        }
    }
    Ok(kernels)
}

/// What is left of a line.
struct Rest<'t>(&'t str);

type Parsed<T> = Result<T, &'static str>;

impl Rest<'_> {
    fn kernel(&mut self, line: u32) -> Parsed<Kernel> {
        if self.word()? != "kernel" {
            return Err("`kernel`");
        }
        let name = self.word()?;
        self.expect("(", "`(`")?;
        let mut params = Vec::new();
        while !self.accept(")") {
            if !params.is_empty() {
                self.expect(",", "`,` or `)`")?;
            }
            params.push(self.param()?);
        }
        let head = self.0.strip_suffix(':').ok_or("`:`")?.trim();
        let condition = head.strip_prefix("where ").map(str::to_owned);
        self.0 = if condition.is_some() { "" } else { head };
        Ok(Kernel { name, line, params, condition, body: Vec::new() })
    }

    fn param(&mut self) -> Parsed<Param> {
        let name = self.word()?;
        self.expect(":", "`:`")?;
        match self.word()?.as_str() {
            "f64" => Ok(Param { name, size: None }),
            "f32" => {
                self.expect("[", "`[`")?;
                let size = self.word()?;
                self.expect("]", "`]`")?;
                Ok(Param { name, size: Some(size) })
            }
            _ => Err("`f64` or `f32[n]`"),
        }
    }

    fn assign(&mut self, line: u32) -> Parsed<Assign> {
        let target = self.word()?;
        self.expect("=", "`=`")?;
        Ok(Assign { line, target, value: self.operation(&['+', '-'])? })
    }

    /// Parses operands between operators of a level, which is that of sums or that of products.
    fn operation(&mut self, operators: &[char]) -> Parsed<Value> {
        let is_sum = operators.contains(&'+');
        let operand = |rest: &mut Self| {
            if is_sum { rest.operation(&['*', '/']) } else { rest.atom() }
        };
        let mut value = operand(self)?;
        while let Some(operator) = self.0.chars().next().filter(|next| operators.contains(next)) {
            self.0 = self.0[1..].trim_start();
            value = Value::Binary(operator, Box::new(value), Box::new(operand(self)?));
        }
        Ok(value)
    }

    fn atom(&mut self) -> Parsed<Value> {
        if self.accept("(") {
            let value = self.operation(&['+', '-'])?;
            return self.expect(")", "`)`").map(|()| value);
        }
        let word = self.word()?;
        Ok(word.parse().map_or(Value::Name(word), Value::Number))
    }

    /// Takes a name or a number.
    fn word(&mut self) -> Parsed<String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = self.0.find(|c| !is_part(c)).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest.trim_start();
        if word.is_empty() { Err("a name or a number") } else { Ok(word.to_owned()) }
    }

    fn accept(&mut self, token: &str) -> bool {
        let rest = self.0.strip_prefix(token);
        self.0 = rest.map_or(self.0, str::trim_start);
        rest.is_some()
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Parsed<()> {
        if self.accept(token) { Ok(()) } else { Err(expected) }
    }
}
