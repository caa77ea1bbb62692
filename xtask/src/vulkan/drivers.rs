//! The drivers, and the variables with which programs find them.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files;

/// A Vulkan driver that computes on the CPU.
#[derive(Debug, PartialEq)]
pub struct Driver {
    pub name: &'static str,
    /// The packages that have it.
    pub packages: &'static [&'static str],
    /// Whether newer packages are needed than the release has.
    pub newer: bool,
    /// The end of the path of its description, which the Vulkan loader reads.
    description: &'static str,
    /// Whether the width of its vectors can be chosen.
    pub has_widths: bool,
}

pub static DRIVERS: &[Driver] = &[
    Driver {
        name: "lavapipe",
        packages: &["mesa-vulkan-drivers", "libvulkan1"],
        newer: true,
        description: "lvp_icd.json",
        has_widths: true,
    },
    Driver {
        name: "swiftshader",
        packages: &["chromium-common"],
        newer: false,
        description: "vk_swiftshader_icd.json",
        has_widths: false,
    },
];

impl Driver {
    /// The file that describes it to the Vulkan loader, if it is installed.
    pub fn description(&self, folder: &Path) -> Option<PathBuf> {
        // The packages of some releases name the architecture as well.
        let stem = self.description.trim_end_matches("json");
        find(folder, &|name| name.starts_with(stem) && name.ends_with(".json"))
    }

    /// The variables for a program that is to use only this driver.
    pub fn environment(&self, folder: &Path, width: Option<&str>) -> Result<Vec<(&'static str, String)>, Error> {
        let missing = |what: &str| {
            let (name, what) = (
                self.name.to_owned(),
                format!("{what} is not in {}: run `cargo xtask vulkan --setup`", folder.display()),
            );
            Error::Peer { name, what }
        };
        let description = self.description(folder).ok_or_else(|| missing("the driver"))?;
        let loader = loader(folder).ok_or_else(|| missing("the Vulkan loader"))?;
        let libraries = loader.parent().unwrap_or(folder).display().to_string();
        let before = std::env::var("LD_LIBRARY_PATH").ok().filter(|path| !path.is_empty());
        let path = before.map_or(libraries.clone(), |before| format!("{libraries}:{before}"));
        let mut all = vec![("VK_DRIVER_FILES", description.display().to_string()), ("LD_LIBRARY_PATH", path)];
        all.extend(width.map(|bits| ("LP_NATIVE_VECTOR_WIDTH", bits.to_owned())));
        Ok(all)
    }
}

/// The library that finds drivers, if it is installed.
pub fn loader(folder: &Path) -> Option<PathBuf> {
    find(folder, &|name| name == "libvulkan.so.1")
}

/// The first file below a folder whose name fits, by path.
fn find(folder: &Path, fits: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let all = files::files_below(folder).ok()?;
    let name = |path: &PathBuf| path.file_name().is_some_and(|name| fits(&name.to_string_lossy()));
    all.into_iter().filter(name).min()
}
