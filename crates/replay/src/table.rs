//! Tables of several queues as one.

use forebay_engine::{Column, Table};

/// The rows of all tables, one table after the other. Values that only some disciplines have are NaN in the others'
/// rows.
pub fn stacked(tables: Vec<Table>) -> Table {
    let mut rows = 0;
    let mut all = Table::default();
    for table in tables {
        let more = table.columns.first().map_or(0, |(_, column)| length(column));
        for (name, column) in table.columns {
            match all.columns.iter_mut().find(|(known, _)| *known == name) {
                Some((_, present)) => append(present, column),
                None => {
                    let mut empty = Column::Float(vec![f64::NAN; rows]);
                    if rows == 0 {
                        empty = column;
                    } else {
                        append(&mut empty, column);
                    }
                    all.push(name, empty);
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

fn length(column: &Column) -> usize {
    match column {
        Column::Text(texts) => texts.len(),
        Column::Float(values) => values.len(),
        Column::Count(counts) => counts.len(),
    }
}

/// Columns of one name are of one kind: only gauges, which are numbers, come and go.
fn append(column: &mut Column, more: Column) {
    match (column, more) {
        (Column::Text(texts), Column::Text(more)) => texts.extend(more.iter()),
        (Column::Float(values), Column::Float(more)) => values.extend(more),
        (Column::Count(counts), Column::Count(more)) => counts.extend(more),
        _ => unreachable!("a column has one kind in all tables"),
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
        let all = stacked(vec![of("a", "avg", 1.0), of("b", "credits", 2.0), of("c", "avg", 3.0)]);
        assert_eq!(all.texts("queue"), ["a", "b", "c"]);
        assert_eq!(format!("{:?}", all.floats("avg")), "[1.0, NaN, 3.0]");
        assert_eq!(format!("{:?}", all.floats("credits")), "[NaN, 2.0, NaN]");
    }
}
