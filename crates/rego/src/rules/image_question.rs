//! What rules may ask about images, by the word that asks.

/// A question about images that is asked where rules have its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageQuestion {
    /// What an image is on each of its platforms.
    Configurations,
    /// The packages that it is made of.
    Packages,
}

impl ImageQuestion {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Configurations, Self::Packages];

    /// Where rules of a policy find the answers, by the image strings of the object.
    pub fn in_policies(self) -> &'static str {
        match self {
            Self::Configurations => "imageConfigs",
            Self::Packages => "sbomPackages",
        }
    }

    /// Where rules of the scan phase find the answer about the one image that they are asked about.
    pub fn in_custom_rules(self) -> &'static str {
        match self {
            Self::Configurations => "ImageConfigs",
            Self::Packages => "SbomPackages",
        }
    }
}
