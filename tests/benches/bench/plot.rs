//! Plots of tables, as SVG. The viewer renders the text, so that no font of this machine is used.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::{Plot, Table, number};
use crate::samples::Samples;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

const WIDTH: u32 = 1000;
/// Pixels per mark, and between groups of marks.
const STEP: u32 = 9;
const GAP: u32 = 10;

/// Draws a table into a file; returns its name, or none for a table without a plot.
pub(crate) fn draw(table: &Table, folder: &Path) -> Option<String> {
    if table.series.is_empty() || table.plot == Plot::None {
        return None;
    }
    let keep = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let file = format!("{}.svg", table.title.chars().map(keep).collect::<String>());
    let path = folder.join(&file);
    let drawn = match table.plot {
        Plot::Marks => marks(table, &path),
        Plot::Curves => curves(table, &path),
        Plot::None => Ok(()),
    };
    drawn.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(file)
}

/// Returns the range of all figures, for a logarithmic axis.
fn range(table: &Table) -> std::ops::Range<f64> {
    let all = || table.series.iter().map(|series| &series.samples);
    let low = all().map(Samples::min).filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
    let high = all().map(Samples::max).fold(0.0, f64::max);
    if low.is_finite() { low * 0.8..high.max(low) * 1.25 } else { 0.5..2.0 }
}

/// Returns the colour of a column.
fn color(column: usize) -> RGBColor {
    const COLORS: [RGBColor; 12] = [
        RGBColor(31, 119, 180),
        RGBColor(255, 127, 14),
        RGBColor(44, 160, 44),
        RGBColor(214, 39, 40),
        RGBColor(148, 103, 189),
        RGBColor(140, 86, 75),
        RGBColor(227, 119, 194),
        RGBColor(127, 127, 127),
        RGBColor(188, 189, 34),
        RGBColor(23, 190, 207),
        RGBColor(0, 0, 0),
        RGBColor(255, 152, 150),
    ];
    COLORS[column % COLORS.len()]
}

/// Draws the names of the columns in their colours, along the top.
fn legend(area: &Area<'_>, columns: &[&str]) -> Drawn {
    for (index, column) in columns.iter().enumerate() {
        let (x, y) = (10 + 245 * (index as i32 % 4), 26 + 16 * (index as i32 / 4));
        area.draw(&Circle::new((x, y + 5), 4, color(index).filled()))?;
        area.draw(&Text::new((*column).to_owned(), (x + 8, y), ("sans-serif", 12)))?;
    }
    Ok(())
}

fn head(columns: usize) -> u32 {
    32 + 16 * columns.div_ceil(4) as u32
}

/// Draws a mark for each median and a line from minimum to maximum, one row below another.
fn marks(table: &Table, path: &Path) -> Drawn {
    let (rows, columns) = (table.rows(), table.columns());
    let group = STEP * columns.len() as u32 + GAP;
    let height = head(columns.len()) + group * rows.len() as u32 + 40;
    let area = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    title(&area, table)?;
    legend(&area, &columns)?;
    let top = head(columns.len()) as i32;
    let mut chart = ChartBuilder::on(&area.margin(top, 4, 4, 16))
        .set_label_area_size(LabelAreaPosition::Left, 230)
        .set_label_area_size(LabelAreaPosition::Bottom, 24)
        .build_cartesian_2d(range(table).log_scale(), 0.0..rows.len() as f64)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_y_mesh().y_labels(0).x_label_formatter(&|v| number(*v)).draw()?;
    for (r, row) in rows.iter().enumerate() {
        let base = (rows.len() - r) as f64;
        let style = ("sans-serif", 12).into_text_style(&area);
        let style = style.pos(Pos::new(HPos::Right, VPos::Center));
        let middle = chart.backend_coord(&(range(table).start, base - 0.5));
        area.draw(&Text::new((*row).to_owned(), (middle.0 - 6, middle.1), style))?;
        for (c, column) in columns.iter().enumerate() {
            let Some(s) = table.cell(row, column).filter(|s| s.min() > 0.0) else { continue };
            let y = base
                - (f64::from(STEP) * (c as f64 + 0.5) + f64::from(GAP) / 2.0) / f64::from(group);
            let line = vec![(s.min(), y), (s.max(), y)];
            chart.draw_series([PathElement::new(line, color(c))])?;
            chart.draw_series([Circle::new((s.median(), y), 3, color(c).filled())])?;
        }
    }
    area.present()
}

fn title(area: &Area<'_>, table: &Table) -> Drawn {
    let text = format!("{}, {}", table.title, table.unit);
    area.draw(&Text::new(text, (10, 6), ("sans-serif", 15)))
}

/// Draws a curve of medians per column over numeric rows, with a line from minimum to maximum at each.
fn curves(table: &Table, path: &Path) -> Drawn {
    let columns = table.columns();
    let at = |row: &str| row.parse::<f64>().expect("rows of curves are numbers");
    let most = table.rows().into_iter().map(at).fold(1.0, f64::max);
    let area = SVGBackend::new(path, (WIDTH, 480)).into_drawing_area();
    area.fill(&WHITE)?;
    title(&area, table)?;
    legend(&area, &columns)?;
    let mut chart = ChartBuilder::on(&area.margin(head(columns.len()) as i32, 4, 4, 16))
        .set_label_area_size(LabelAreaPosition::Left, 70)
        .set_label_area_size(LabelAreaPosition::Bottom, 24)
        .build_cartesian_2d((0.9..most * 1.2).log_scale(), range(table).log_scale())?;
    let mut mesh = chart.configure_mesh();
    mesh.x_label_formatter(&|v| number(*v)).y_label_formatter(&|v| number(*v)).draw()?;
    for (c, column) in columns.iter().enumerate() {
        let cells = || table.series.iter().filter(|s| s.column == **column);
        let medians = cells().map(|s| (at(&s.row), s.samples.median()));
        chart.draw_series(LineSeries::new(medians, color(c).stroke_width(2)))?;
        for s in cells() {
            let line = vec![(at(&s.row), s.samples.min()), (at(&s.row), s.samples.max())];
            chart.draw_series([PathElement::new(line, color(c))])?;
        }
    }
    area.present()
}
