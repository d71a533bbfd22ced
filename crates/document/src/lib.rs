//! TOML files with the place of every key and value. A fault, found at once or much later, is shown with the offending
//! text underlined, the expected value, and the nearest valid name.
//!
//! ```
//! use forebay_document::{Document, Invalid, Kind, Path};
//!
//! const RECIPE: Kind =
//!     Kind { name: "recipe", override_example: "eggs=3", not_offered: &[], foreign: &[], misplaced: &[] };
//!
//! #[derive(serde::Deserialize)]
//! struct Recipe {
//!     eggs: u32,
//! }
//!
//! let read = |text: &str| {
//!     let document = Document::parse(RECIPE, "cake.toml", text, &[])?;
//!     let recipe: Recipe = document.read()?;
//!     if recipe.eggs > 12 {
//!         let eggs = Path::default().key("eggs");
//!         return Err(document.refused(Invalid::new(eggs, "more eggs than fit", "expected at most 12")));
//!     }
//!     Ok(recipe.eggs)
//! };
//! assert_eq!(read("eggs = 3").ok(), Some(3));
//! let shown = |text: &str| read(text).err().map(|error| error.to_string());
//! assert_eq!(shown("eggs = 20").as_deref(), Some("cake.toml:1:8: more eggs than fit"));
//! assert_eq!(shown("").as_deref(), Some("cake.toml:1:1: missing key `eggs`"));
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `document.rs` | a file with the overrides of a command line, which is all that a reader needs |
//! | `tree.rs`, `overrides.rs` | the tree of keys and values with their places; how an override changes it |
//! | `deserialize.rs` | from the tree to a type |
//! | `numbers.rs` | the numbers of a document with their places |
//! | `not_toml.rs` | remedies for the errors of the TOML parser |
//! | `invalid.rs`, `error.rs` | a fault, by the path of a value; with its place, as it is shown |
//! | `printable.rs` | text that a terminal shows as it is |

mod deserialize;
mod document;
mod error;
mod invalid;
mod not_toml;
mod numbers;
mod overrides;
mod printable;
mod rewrite;
mod tree;

pub use document::{Document, Kind};
pub use error::{DocumentError, Words, did_you_mean};
pub use invalid::Invalid;
pub use numbers::Number;
pub use overrides::append_override;
pub use printable::escaped;
pub use tree::{Node, Path, PathStep};
