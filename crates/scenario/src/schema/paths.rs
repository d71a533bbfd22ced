//! The path policies, as the manual shows them.

use super::tagged::algorithms;

algorithms! {
    /// Every path policy, in the order in which they are listed.
    PATH_POLICIES;
    "single", forebay_switching::SingleConfig, "paths/single.rs";
    "ecmp", forebay_switching::EcmpConfig, "paths/ecmp.rs";
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
