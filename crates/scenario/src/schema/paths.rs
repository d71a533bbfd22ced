//! The path policies, as the manual shows them.

use schemars::JsonSchema;

use super::tagged::Algorithm;

/// Declares [`PATH_POLICIES`]: a line is the name in a scenario, the configuration, and the file.
macro_rules! path_policies {
    ($($name:literal, $config:ident, $file:literal;)*) => {
        /// Every path policy, in the order in which they are listed.
        pub(crate) const PATH_POLICIES: &[Algorithm] = &[
            $(Algorithm {
                name: $name,
                source: include_str!(concat!("../../../switching/src/paths/", $file)),
                parameters: <forebay_switching::$config as JsonSchema>::json_schema,
            },)*
        ];
    };
}

path_policies! {
    "single", SingleConfig, "single.rs";
    "ecmp", EcmpConfig, "ecmp.rs";
}

#[cfg(test)]
mod tests {
    use forebay_switching::PathPolicyConfig;

    use super::*;

    #[test]
    fn every_policy_has_its_page() {
        let every: Vec<_> = PathPolicyConfig::every().iter().map(PathPolicyConfig::name).collect();
        assert_eq!(PATH_POLICIES.iter().map(|policy| policy.name).collect::<Vec<_>>(), every);
    }
}
