//! Whom servers run as: Assay's own user or, when that is root, an unprivileged one.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::error::StartError;

/// The users looked for when Assay is root, in this order: its own, the one with the fewest
/// rights, and the one that PostgreSQL's package makes. PostgreSQL wants a named user.
const CANDIDATES: [&str; 3] = ["assay", "nobody", "postgres"];

/// An unprivileged user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its user number.
    pub uid: u32,
    /// Its group number.
    pub gid: u32,
}

impl Account {
    /// The user that servers run as: `None` is Assay's own, which is not root.
    pub fn for_servers() -> Result<Option<Account>, StartError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        match choose(&passwd) {
            Some(account) => Ok(Some(account)),
            None => Err(StartError::NoAccount { tried: CANDIDATES.join(", ") }),
        }
    }

    /// The first folder on the way to `path`, or `path` itself, that the permissions close to this
    /// user; `None` if it can be reached and, a file, run.
    pub(crate) fn blocked_at(&self, path: &Path) -> Option<PathBuf> {
        let mut way: Vec<&Path> = path.ancestors().collect();
        way.reverse();
        way.into_iter().find(|step| !self.may_enter(step)).map(Path::to_path_buf)
    }

    /// Whether the permissions let this user search the folder, or run the file, `path`. What does
    /// not exist is left for its user to complain about.
    fn may_enter(&self, path: &Path) -> bool {
        let Ok(metadata) = fs::metadata(path) else { return true };
        let mode = metadata.permissions().mode();
        let bit = if metadata.uid() == self.uid {
            0o100
        } else if metadata.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        mode & bit != 0
    }
}

fn choose(passwd: &str) -> Option<Account> {
    CANDIDATES.iter().find_map(|wanted| {
        passwd.lines().find_map(|line| {
            let mut columns = line.split(':');
            let name = columns.next().filter(|name| name == wanted)?;
            let uid = columns.nth(1)?.parse().ok().filter(|&uid| uid != 0)?;
            let gid = columns.next()?.parse().ok()?;
            Some(Account { name: name.to_owned(), uid, gid })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_never_root() {
        let passwd = "root:x:0:0::/root:/bin/sh\nassay:x:0:0::/:/bin/sh\n\
                      postgres:x:101:104::/var/lib/postgresql:/bin/bash\n\
                      nobody:x:65534:65533::/nonexistent:/usr/sbin/nologin\n";
        let account = choose(passwd).expect("nobody is listed");
        assert_eq!(account, Account { name: "nobody".into(), uid: 65534, gid: 65533 });
        assert_eq!(choose("root:x:0:0::/root:/bin/sh\n"), None);
    }

    #[test]
    fn a_closed_folder_on_the_way_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let closed = folder.path().join("closed");
        fs::create_dir(&closed).expect("created");
        fs::write(closed.join("server"), "").expect("written");
        for path in [folder.path(), &closed] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
        }
        let stranger = Account { name: "stranger".into(), uid: 4_000_000_001, gid: 4_000_000_001 };
        let server = closed.join("server");
        fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("set");
        assert_eq!(stranger.blocked_at(&server), None);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("set");
        assert_eq!(stranger.blocked_at(&server), Some(closed));
    }
}
