//! What differs between MariaDB and MySQL, as values.

use std::fmt;

use crate::SystemError;

/// One of the two products.
#[derive(Debug)]
pub(super) struct Flavour {
    /// The driver's name.
    pub name: &'static str,
    /// The product's own name.
    pub product: &'static str,
    /// What makes the key, a generated column of a document, unique: MariaDB has no primary key on
    /// a generated column.
    pub document_key: &'static str,
    /// The first version with everything that the layout `json` needs, and what that is.
    pub documents_since: ([u32; 3], &'static str),
    /// What a session sets besides, if the server knows it.
    pub session: Option<&'static str>,
}

pub(super) static MARIADB: Flavour = Flavour {
    name: "mariadb",
    product: "MariaDB",
    document_key: "UNIQUE KEY",
    documents_since: ([10, 2, 25], "JSON_MERGE_PATCH comes with MariaDB 10.2.25"),
    session: None,
};

pub(super) static MYSQL: Flavour = Flavour {
    name: "mysql",
    product: "MySQL",
    document_key: "PRIMARY KEY",
    documents_since: (
        [5, 7, 22],
        "MySQL has the type JSON from 5.7 on, and JSON_MERGE_PATCH from 5.7.22 on",
    ),
    // From 8.0 on, a table's size is otherwise a day old.
    session: Some("SET SESSION information_schema_stats_expiry = 0"),
};

impl Flavour {
    /// An error while doing `action`.
    pub fn failed(&self, action: &str, why: impl fmt::Display) -> SystemError {
        SystemError::Failed {
            system: self.name.into(),
            action: action.into(),
            why: why.to_string(),
        }
    }

    /// Whether a server of this version is the product. The error names the driver that it is for.
    pub fn check(&self, version: &str) -> Result<(), String> {
        let other = if version.contains("MariaDB") { &MARIADB } else { &MYSQL };
        if other.name == self.name {
            return Ok(());
        }
        Err(format!("it is {} {version}: name the system '{}'", other.product, other.name))
    }

    /// Why a server of this version cannot hold documents, if it cannot.
    pub fn without_documents(&self, version: &str) -> Option<String> {
        let (since, why) = self.documents_since;
        (numbers(version) < since)
            .then(|| format!("it is {} {version}, and {why}: use the layout row", self.product))
    }
}

/// The three numbers that a version begins with.
fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse());
    [(); 3].map(|()| numbers.next().and_then(Result::ok).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_the_other_product_is_told_by_its_version() {
        for (flavour, version, ours) in [
            (&MARIADB, "5.5.5-10.11.19-MariaDB-0+deb12u1", true),
            (&MARIADB, "8.0.36", false),
            (&MYSQL, "8.0.36", true),
            (&MYSQL, "11.4.2-MariaDB", false),
        ] {
            assert_eq!(flavour.check(version).is_ok(), ours, "{} {version}", flavour.name);
        }
        let why = MYSQL.check("11.4.2-MariaDB").unwrap_err();
        assert!(why.contains("'mariadb'"), "{why}");
    }

    #[test]
    fn a_server_without_documents_is_told_by_its_version() {
        for (flavour, version, has) in [
            (&MYSQL, "5.6.24", false),
            (&MYSQL, "5.7.21-log", false),
            (&MYSQL, "5.7.22", true),
            (&MYSQL, "8.0.36-0ubuntu0", true),
            (&MYSQL, "9.1", true),
            (&MARIADB, "10.2.24-MariaDB", false),
            (&MARIADB, "10.11.19-MariaDB", true),
        ] {
            assert_eq!(flavour.without_documents(version).is_none(), has, "{version}");
        }
    }
}
