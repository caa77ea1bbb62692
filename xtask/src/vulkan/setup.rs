//! Unpacks the drivers from the packages of Debian into a folder. Package lists are kept there, so that the lists and the
//! packages of the system stay as they are.

use std::fs;
use std::path::{Path, PathBuf};

use super::drivers::{DRIVERS, Driver};
use crate::command::Program;
use crate::error::Error;

pub fn setup(folder: &Path) -> Result<(), Error> {
    let missing: Vec<&Driver> = DRIVERS.iter().filter(|driver| driver.description(folder).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let apt = Apt::new(folder)?;
    apt.run("update", &[])?;
    for driver in missing {
        let packages = apt.with_dependencies(driver)?;
        eprintln!("{}: {}", driver.name, packages.join(", "));
        apt.unpack(driver, &packages)?;
        if driver.description(folder).is_none() {
            let what = format!("{} have no driver", packages.join(", "));
            return Err(Error::Peer { name: driver.name.to_owned(), what });
        }
    }
    Ok(())
}

/// apt-get with lists of its own.
struct Apt {
    folder: PathBuf,
    /// The name of the release, such as `bookworm`.
    release: String,
    options: Vec<String>,
}

impl Apt {
    fn new(folder: &Path) -> Result<Apt, Error> {
        let unsupported = || Error::Peer {
            name: "vulkan --setup".to_owned(),
            what: "only Debian's packages are supported; set VK_DRIVER_FILES to a driver of your own".to_owned(),
        };
        let [system, sources] = ["/etc/os-release", "/etc/apt/sources.list.d/debian.sources"].map(fs::read_to_string);
        let (Ok(system), Ok(sources)) = (system, sources) else { return Err(unsupported()) };
        let release = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).ok_or_else(unsupported)?;
        for name in ["lists/partial", "cache/archives/partial", "packages"] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(|source| Error::File { path, source })?;
        }
        let list = folder.join("list.sources");
        let text = with_backports(&sources, release);
        fs::write(&list, text).map_err(|source| Error::File { path: list.clone(), source })?;
        let at = |name: &str| folder.join(name).display().to_string();
        let options = [
            format!("Dir::State::lists={}", at("lists")),
            format!("Dir::Cache={}", at("cache")),
            format!("Dir::Etc::sourcelist={}", list.display()),
            "Dir::Etc::sourceparts=-".to_owned(),
            // Its own user can't write to the folder.
            "APT::Sandbox::User=root".to_owned(),
        ];
        Ok(Apt { folder: folder.to_owned(), release: release.to_owned(), options: options.into() })
    }

    fn run(&self, command: &str, arguments: &[String]) -> Result<String, Error> {
        let options = self.options.iter().flat_map(|option| ["-o", option]);
        let program = Program::new("apt-get", &self.folder.join("packages")).args(options);
        let output = program.args(command.split(' ')).args(arguments).stdout()?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// The packages of a driver, with the packages that they need and the machine lacks.
    fn with_dependencies(&self, driver: &Driver) -> Result<Vec<String>, Error> {
        if !driver.newer {
            // Its library needs only the libraries of every system; the packages that it comes with need many more.
            return Ok(driver.packages.iter().map(|&name| name.to_owned()).collect());
        }
        let target = format!("--simulate --no-install-recommends --target-release {}-backports install", self.release);
        let packages: Vec<String> = driver.packages.iter().map(|&name| name.to_owned()).collect();
        let mut all = to_install(&self.run(&target, &packages)?);
        // Packages that are installed are needed in the folder as well.
        all.extend(packages);
        all.sort();
        all.dedup();
        Ok(all)
    }

    /// Downloads packages and unpacks them.
    fn unpack(&self, driver: &Driver, packages: &[String]) -> Result<(), Error> {
        let place = self.folder.join("packages");
        let at = |path: &Path| {
            let path = path.to_owned();
            |source| Error::File { path, source }
        };
        fs::remove_dir_all(&place).and_then(|()| fs::create_dir_all(&place)).map_err(at(&place))?;
        let target = if driver.newer {
            format!("--target-release {}-backports download", self.release)
        } else {
            "download".to_owned()
        };
        self.run(&target, packages)?;
        let into = self.folder.join(driver.name);
        for entry in fs::read_dir(&place).map_err(at(&place))? {
            let package = entry.map_err(at(&place))?.path();
            Program::new("dpkg --extract", &place).arg(&package).arg(&into).stdout()?;
        }
        fs::remove_dir_all(&place).map_err(at(&place))?;
        fs::create_dir_all(&place).map_err(at(&place))
    }
}

/// The lists of a release with a further one for its newer packages: the stanza of the release's own packages, for the
/// suite `RELEASE-backports`.
fn with_backports(sources: &str, release: &str) -> String {
    let suites = |stanza: &str| stanza.lines().find_map(|line| Some(line.strip_prefix("Suites:")?.trim().to_owned()));
    let own =
        |stanza: &&str| suites(stanza).is_some_and(|suites| suites.split_whitespace().any(|suite| suite == release));
    let stanzas: Vec<&str> = sources.split("\n\n").collect();
    let backports = stanzas.iter().copied().find(own).map(|stanza| {
        let line = |line: &str| match line.starts_with("Suites:") {
            true => format!("Suites: {release}-backports"),
            false => line.to_owned(),
        };
        stanza.lines().map(line).collect::<Vec<String>>().join("\n")
    });
    stanzas.into_iter().map(str::to_owned).chain(backports).collect::<Vec<String>>().join("\n\n") + "\n"
}

/// The names of the packages that apt-get would install.
fn to_install(simulation: &str) -> Vec<String> {
    let names = simulation.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_newer_packages_is_added_once() {
        let own = "Types: deb\nURIs: http://packages/debian\nSuites: stable stable-updates\nComponents: main";
        let security = "Types: deb\nURIs: http://packages/security\nSuites: stable-security\nComponents: main\n";
        let all = with_backports(&format!("{own}\n\n{security}"), "stable");
        let added = own.replace("stable stable-updates", "stable-backports");
        assert_eq!(all, format!("{own}\n\n{security}\n\n{added}\n"));
        assert_eq!(with_backports(security, "stable").matches("Suites:").count(), 1);
    }

    #[test]
    fn packages_are_read_from_a_simulation() {
        let text = "NOTE: This is only a simulation!\nInst libdrm2 [2.4.114-1] (2.4.123 Debian [amd64])\nInst mesa (25.0 Debian)\nConf mesa (25.0 Debian)\n";
        assert_eq!(to_install(text), ["libdrm2", "mesa"]);
    }
}
