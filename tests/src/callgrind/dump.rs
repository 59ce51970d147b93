//! What callgrind writes down: lines of costs by function and instruction, calls, jumps, and a line of totals.

#[cfg(test)]
mod tests;

/// What something costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Instructions.
    pub instructions: u64,
    /// Conditional branches, taken or not.
    pub branches: u64,
    /// Those of them that were taken, and jumps that are not conditional; calls and returns are neither. None where
    /// they were not counted.
    pub taken: Option<u64>,
}

impl Counts {
    /// The share of one of so many repetitions, rounded up.
    pub(super) fn each(self, times: u64) -> Counts {
        Counts {
            instructions: self.instructions.div_ceil(times),
            branches: self.branches.div_ceil(times),
            taken: self.taken.map(|taken| taken.div_ceil(times)),
        }
    }

    /// Reads what a dump sums up to, without what a function of the name `caller` costs by itself.
    pub(super) fn read(dump: &str, caller: Option<&str>, taken: bool) -> Result<Counts, String> {
        let mut reader = Reader::default();
        dump.lines().for_each(|line| reader.line(line, caller));
        let total = reader.total.filter(|total| total[0] > 0).ok_or("no total")?;
        let [instructions, branches] = [0, 1].map(|event| total[event] - reader.own[event]);
        Ok(Counts { instructions, branches, taken: taken.then_some(reader.taken) })
    }
}

/// The first two events of branch simulation: instructions and conditional branches.
type Events = [u64; 2];

/// The lines up to now.
#[derive(Debug, Default)]
struct Reader {
    /// How many words of a line say where in the program it is.
    places: usize,
    is_caller: bool,
    /// True of a line that belongs to the one before it: the place and the cost of a call, the place of a jump.
    is_second: bool,
    own: Events,
    taken: u64,
    total: Option<Events>,
}

impl Reader {
    fn line(&mut self, line: &str, caller: Option<&str>) {
        if std::mem::take(&mut self.is_second) {
            return;
        }
        if let Some(places) = line.strip_prefix("positions: ") {
            self.places = places.split_whitespace().count();
        } else if let Some(name) = line.strip_prefix("fn=") {
            self.is_caller = Some(name) == caller;
        } else if line.starts_with("calls=") {
            self.is_second = true;
        } else if let Some(jump) = line.strip_prefix("jump=").or_else(|| line.strip_prefix("jcnd="))
        {
            self.is_second = true;
            // A conditional one has two numbers: how often it was taken, and how often it was executed.
            let end = jump.find(|c: char| !c.is_ascii_digit()).unwrap_or(jump.len());
            self.taken += if self.is_caller { 0 } else { number(&jump[..end]) };
        } else if let Some(total) = line.strip_prefix("totals: ") {
            self.total = Some(events(total.split_whitespace()));
        } else if self.is_caller && line.starts_with(|c: char| c.is_ascii_digit()) {
            let costs = events(line.split_whitespace().skip(self.places));
            self.own.iter_mut().zip(costs).for_each(|(own, cost)| *own += cost);
        }
    }
}

/// What is missing at the end is zero.
fn events<'a>(mut words: impl Iterator<Item = &'a str>) -> Events {
    std::array::from_fn(|_| words.next().map_or(0, number))
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|error| panic!("{word}: {error}"))
}
