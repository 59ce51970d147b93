//! Interleaved measurements and their statistics.

use serde_json::{Value, json};

/// Measurements of one thing, one per round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(pub(crate) Vec<f64>);

impl Samples {
    pub(crate) fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[n / 2],
            n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
        }
    }

    /// Returns the median of the rounds' ratios, or the ratio of the medians if the two were not measured in turn.
    pub(crate) fn ratio(&self, base: &Samples) -> f64 {
        if self.0.len() != base.0.len() {
            return self.median() / base.median();
        }
        Samples(self.0.iter().zip(&base.0).map(|(a, b)| a / b).collect()).median()
    }

    pub(crate) fn json(&self) -> Value {
        let (min, median, max) = (self.min(), self.median(), self.max());
        json!({ "min": min, "median": median, "max": max, "rounds": self.0.len() })
    }
}

/// A measurement that takes its turn: a column of a table, and the rows that each run fills.
pub(crate) struct Item<'a> {
    pub(crate) column: String,
    pub(crate) rows: Vec<String>,
    pub(crate) run: Box<dyn FnMut() -> Vec<f64> + 'a>,
}

/// Samples of a cell of a table.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) row: String,
    pub(crate) column: String,
    pub(crate) samples: Samples,
}

/// Runs every item once to warm up, then all in turn, round after round.
pub(crate) fn interleave(mut items: Vec<Item<'_>>, rounds: usize) -> Vec<Series> {
    let mut measured: Vec<Vec<Samples>> = Vec::new();
    for item in &mut items {
        (item.run)();
        measured.push(vec![Samples::default(); item.rows.len()]);
    }
    for _ in 0..rounds {
        for (item, samples) in items.iter_mut().zip(&mut measured) {
            let values = (item.run)();
            assert_eq!(values.len(), samples.len(), "one value per row of {}", item.column);
            samples.iter_mut().zip(values).for_each(|(samples, value)| samples.0.push(value));
        }
    }
    let series = items.into_iter().zip(measured).flat_map(|(item, samples)| {
        let column = item.column;
        item.rows.into_iter().zip(samples).map(move |(row, samples)| Series {
            row,
            column: column.clone(),
            samples,
        })
    });
    series.collect()
}
