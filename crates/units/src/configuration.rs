//! Configurations of algorithms.

/// Declares the configuration of an algorithm: each field with its documentation, its type and its default.
///
/// With the caller's feature `config`, it is read by serde and described by schemars. Missing keys have their defaults,
/// and unknown ones are refused.
///
/// ```
/// forebay_units::configuration! {
///     /// Parameters of a moving average.
///     pub struct AverageConfig {
///         /// Weight of a new sample.
///         pub weight: f64 = 0.002;
///     }
/// }
///
/// assert_eq!(AverageConfig::default().weight, 0.002);
/// ```
#[macro_export]
macro_rules! configuration {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty = $value:expr;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $value,)* }
            }
        }
    };
}
