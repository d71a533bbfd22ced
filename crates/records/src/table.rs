//! Tables of named columns.

use crate::string_column::StringColumn;

/// One column of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Names.
    Text(StringColumn),
    /// Numbers, with the unit in the column's name; NaN for none.
    Float(Vec<f64>),
    /// Counts.
    Count(Vec<u64>),
}

impl Column {
    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(texts) => texts.len(),
            Self::Float(numbers) => numbers.len(),
            Self::Count(counts) => counts.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Columns of one name are of one kind: only gauges, which are numbers, come and go.
    fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Text(texts), Self::Text(more)) => texts.extend(more.iter()),
            (Self::Float(numbers), Self::Float(more)) => numbers.extend(more),
            (Self::Count(counts), Self::Count(more)) => counts.extend(more),
            _ => unreachable!("a column has one kind in all tables"),
        }
    }
}

/// Named columns of equal length, in a fixed order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name and values.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// Adds a column.
    pub fn push(&mut self, name: &'static str, column: Column) {
        self.columns.push((name, column));
    }

    /// The column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(column_name, _)| *column_name == name).map(|(_, column)| column)
    }

    /// The column's numbers; empty if it has none.
    #[must_use]
    pub fn floats(&self, name: &str) -> &[f64] {
        match self.column(name) {
            Some(Column::Float(values)) => values,
            _ => &[],
        }
    }

    /// The column's counts; empty if it has none.
    #[must_use]
    pub fn counts(&self, name: &str) -> &[u64] {
        match self.column(name) {
            Some(Column::Count(values)) => values,
            _ => &[],
        }
    }

    /// The column's names; empty if it has none.
    #[must_use]
    pub fn texts(&self, name: &str) -> &StringColumn {
        const NONE: &StringColumn = &StringColumn::new();
        match self.column(name) {
            Some(Column::Text(values)) => values,
            _ => NONE,
        }
    }

    /// The rows of all tables, one table after the other. Numbers that some tables lack are NaN in their rows.
    #[must_use]
    pub fn stacked(tables: Vec<Self>) -> Self {
        let mut rows = 0;
        let mut all = Self::default();
        for table in tables {
            let more = table.columns.first().map_or(0, |(_, column)| column.len());
            for (name, column) in table.columns {
                match all.columns.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, present)) => present.append(column),
                    None if rows == 0 => all.push(name, column),
                    None => {
                        let mut gap = Column::Float(vec![f64::NAN; rows]);
                        gap.append(column);
                        all.push(name, gap);
                    }
                }
            }
            rows += more;
            for (_, column) in &mut all.columns {
                if let Column::Float(values) = column {
                    values.resize(rows, f64::NAN);
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauges_of_one_table_are_gaps_in_the_others() {
        let of = |name: &str, gauge: &'static str, value| {
            let mut table = Table::default();
            table.push("queue", Column::Text([name].into_iter().collect()));
            table.push(gauge, Column::Float(vec![value]));
            table
        };
        let all = Table::stacked(vec![of("a", "avg", 1.0), of("b", "credits", 2.0), of("c", "avg", 3.0)]);
        assert_eq!(all.texts("queue"), ["a", "b", "c"]);
        assert_eq!(format!("{:?}", all.floats("avg")), "[1.0, NaN, 3.0]");
        assert_eq!(format!("{:?}", all.floats("credits")), "[NaN, 2.0, NaN]");
    }
}
