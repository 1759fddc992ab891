//! Java programs on Maven Central: the jar of a program and those that it needs, each pinned by its
//! version and SHA-256, downloaded by curl into one folder. Nothing is resolved, so nothing but the
//! jars is asked for, and no Maven is needed.
//!
//! curl goes through the proxy and trusts the certificates that the environment names; a mirror of
//! Maven Central that Maven's own `settings.xml` names is used in its place.

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest, Sha256};

use crate::{command::run_within, fetch::COMMAND_LIMIT};

/// Where the jars are asked for if no mirror is named.
const CENTRAL: &str = "https://repo1.maven.org/maven2";
/// The folder of the jars in what was fetched.
pub(crate) const FOLDER: &str = "jars";
/// The list of downloads as curl reads it.
const DOWNLOADS: &str = ".downloads";

/// A program's jars, by version and content.
#[derive(Debug)]
pub(crate) struct Jars {
    /// A line each, the program's own first: the SHA-256 in hexadecimal, spaces, and
    /// `group:artifact:version` or `group:artifact:version:classifier`.
    pub lock: &'static str,
    /// The place of the program's own jar in what was fetched; may have one `*`.
    pub file: &'static str,
}

/// A jar, as a line of the lock names it.
#[derive(Debug, PartialEq, Eq)]
struct Jar<'a> {
    sha256: &'a str,
    group: &'a str,
    artifact: &'a str,
    version: &'a str,
    classifier: Option<&'a str>,
}

impl<'a> Jar<'a> {
    fn parse(line: &'a str) -> Option<Jar<'a>> {
        let (sha256, coordinates) = line.split_once(char::is_whitespace)?;
        let mut parts = coordinates.trim().split(':');
        Some(Jar {
            sha256,
            group: parts.next()?,
            artifact: parts.next()?,
            version: parts.next()?,
            classifier: parts.next(),
        })
    }

    fn file_name(&self) -> String {
        let Jar { artifact, version, .. } = self;
        match self.classifier {
            Some(classifier) => format!("{artifact}-{version}-{classifier}.jar"),
            None => format!("{artifact}-{version}.jar"),
        }
    }

    /// Its place in a repository.
    fn place(&self) -> String {
        let Jar { group, artifact, version, .. } = self;
        format!("{}/{artifact}/{version}/{}", group.replace('.', "/"), self.file_name())
    }
}

impl Jars {
    fn each(&self) -> impl Iterator<Item = Jar<'static>> {
        self.lock.lines().filter_map(Jar::parse)
    }

    /// The name of a folder for them.
    pub fn label(&self) -> String {
        self.each()
            .next()
            .map_or_else(String::new, |own| format!("{}-{}", own.artifact, own.version))
    }

    /// The version of the program in a folder of this name.
    pub fn version_in<'a>(&self, label: &'a str) -> Option<&'a str> {
        label.strip_prefix(self.each().next()?.artifact)?.strip_prefix('-')
    }
}

/// Downloads `jars` into a folder in `folder`, and makes sure that each is the one that Assay knows.
pub(crate) fn unpack(
    jars: &Jars,
    folder: &Path,
    on_progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let home = folder.join(FOLDER);
    fs::create_dir(&home).map_err(|error| format!("cannot make {}: {error}", home.display()))?;
    let list: Vec<Jar<'_>> = jars.each().collect();
    on_progress(&format!(
        "downloading {}",
        match list.len() {
            1 => "a jar".to_owned(),
            several => format!("{several} jars"),
        }
    ));
    download(&list, &repository(), &home)?;
    list.iter().try_for_each(|jar| verify(jar, &home))
}

/// Has curl download each of `jars` into `home`.
fn download(jars: &[Jar<'_>], repository: &str, home: &Path) -> Result<(), String> {
    let downloads = home.join(DOWNLOADS);
    let unwritable = |error: std::io::Error| format!("{}: {error}", downloads.display());
    let entry =
        |jar: &Jar<'_>| format!("url={repository}/{}\noutput={}\n", jar.place(), jar.file_name());
    fs::write(&downloads, jars.iter().map(entry).collect::<String>()).map_err(unwritable)?;
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--location", "--retry", "3"])
        .args(["--connect-timeout", "60", "--config", DOWNLOADS])
        .current_dir(home);
    let finished =
        run_within(&mut curl, COMMAND_LIMIT, &mut |_| ()).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                "curl, which downloads from Maven Central, is not here: install curl".to_owned()
            }
            _ => format!("curl: {error}"),
        })?;
    fs::remove_file(&downloads).map_err(unwritable)?;
    if finished.status.success() {
        return Ok(());
    }
    Err(format!("curl could not download from Maven Central: {}", finished.last_words()))
}

/// Makes sure that a jar is the one that Assay knows.
fn verify(jar: &Jar<'_>, home: &Path) -> Result<(), String> {
    let file = home.join(jar.file_name());
    let name = jar.file_name();
    let content = match fs::read(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(format!("Maven Central did not give {name}"));
        }
        read => read.map_err(|error| format!("{}: {error}", file.display()))?,
    };
    let hash: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    if hash == jar.sha256 {
        return Ok(());
    }
    Err(format!(
        "what the repository has as {name} is not what Assay knows: its SHA-256 is {hash} and should \
         be {}",
        jar.sha256
    ))
}

/// The mirror of Maven Central that Maven's settings name, or Maven Central.
fn repository() -> String {
    let settings = env::var_os("HOME").map(|home| PathBuf::from(home).join(".m2/settings.xml"));
    let settings = settings.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let mirror = mirror_in(&settings).unwrap_or(CENTRAL);
    mirror.trim_end_matches('/').to_owned()
}

/// The address of the mirror of Maven Central in Maven's `settings.xml`.
fn mirror_in(settings: &str) -> Option<&str> {
    let text_of = |element: &'static str, text| {
        let (_, after) = str::split_once(text, &*format!("<{element}>"))?;
        Some(after.split_once(&*format!("</{element}>"))?.0.trim())
    };
    settings.split("<mirror>").skip(1).find_map(|mirror| {
        let mirror = mirror.split("</mirror>").next()?;
        let mut of = text_of("mirrorOf", mirror)?.split(',').map(str::trim);
        let url = text_of("url", mirror)?;
        // A line break or a quote would be another option for curl.
        let plain = url.chars().all(|c| !c.is_whitespace() && !"\"\\".contains(c));
        let central = of.any(|of| matches!(of, "central" | "*" | "external:*"));
        (central && plain && url.starts_with("http")).then_some(url)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const JARS: Jars = Jars {
        lock: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  org.acme:store:1.2.3\n\
               00  org.acme.net:wire:4.5:linux-x86_64\n",
        file: "jars/store-*.jar",
    };

    #[test]
    fn a_line_names_a_jar_and_its_place() {
        let places: Vec<String> = JARS.each().map(|jar| jar.place()).collect();
        assert_eq!(
            places,
            [
                "org/acme/store/1.2.3/store-1.2.3.jar",
                "org/acme/net/wire/4.5/wire-4.5-linux-x86_64.jar"
            ]
        );
        assert_eq!(JARS.label(), "store-1.2.3");
        assert_eq!(JARS.version_in("store-1.3.0"), Some("1.3.0"));
        assert_eq!(JARS.version_in("wire-4.5"), None);
    }

    #[test]
    fn a_jar_of_other_content_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let own = JARS.each().next().expect("listed");
        let missing = verify(&own, folder.path()).expect_err("not there");
        assert!(missing.contains("did not give store-1.2.3.jar"), "{missing}");
        let file = folder.path().join("store-1.2.3.jar");
        fs::write(&file, "abc").expect("written");
        verify(&own, folder.path()).expect("it is the one with this hash");
        fs::write(&file, "abd").expect("written");
        let refused = verify(&own, folder.path()).expect_err("another content");
        assert!(refused.contains(own.sha256), "{refused}");
    }

    #[test]
    fn a_repository_that_is_not_there_gives_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let jars: Vec<_> = JARS.each().collect();
        let why = download(&jars, "http://127.0.0.1:1", folder.path()).expect_err("nobody there");
        assert!(why.contains("Maven Central") || why.contains("curl"), "{why}");
        assert!(!folder.path().join("store-1.2.3.jar").exists());
    }

    #[test]
    fn the_mirror_of_mavens_settings_is_used() {
        let settings = |of: &str, url: &str| {
            format!(
                "<settings><mirrors><mirror><id>one</id><mirrorOf>jcenter</mirrorOf>\
                 <url>https://other.example/</url></mirror>\n<mirror>\n  <id>two</id>\n  \
                 <url>{url}</url><mirrorOf>{of}</mirrorOf></mirror></mirrors></settings>"
            )
        };
        let url = "https://mirror.example/maven2/";
        for of in ["central", "*", "external:*,!ours", "other, central"] {
            assert_eq!(mirror_in(&settings(of, url)), Some(url), "{of}");
        }
        assert_eq!(mirror_in(&settings("ours", url)), None);
        assert_eq!(mirror_in(&settings("*", "https://a\noutput=b")), None);
        assert_eq!(mirror_in(""), None);
    }

    #[test]
    fn every_line_of_a_lock_is_whole() {
        let sources = crate::RECIPES.iter().flat_map(|recipe| recipe.sources);
        let locks = sources.filter_map(|source| match source {
            crate::recipe::Source::Maven(jars) => Some(jars.lock),
            crate::recipe::Source::Archive(archive) => Some(archive.jar.lock),
            _ => None,
        });
        for line in locks.flat_map(str::lines) {
            let jar = Jar::parse(line).unwrap_or_else(|| panic!("no jar: {line}"));
            let hexadecimal = jar.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(jar.sha256.len() == 64 && hexadecimal, "{line}");
            assert!(line.split(':').count() <= 4, "{line}");
        }
    }
}
