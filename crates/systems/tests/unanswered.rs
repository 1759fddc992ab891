//! A server that takes a connection and never says a word.

use std::{net::TcpListener, sync::Arc, time::Duration};

use assay_model::{Address, Durability, Endpoint, Schema};
use assay_systems::{Opening, SystemError, Target, registry};

#[test]
fn a_server_that_never_answers_is_given_up_after_the_timeout_and_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let servers = registry::DRIVERS.iter().filter(|driver| driver.place.is_server());
    for driver in servers {
        let opening = Opening {
            target: Target::Server(Endpoint::at(Address::Tcp {
                host: "127.0.0.1".into(),
                port: address.port(),
            })),
            layout: driver.layouts[0].name.into(),
            schema: Arc::new(Schema::new("usertable", "field", 1)),
            durability: Durability::None,
            settings: Default::default(),
            timeout: Duration::from_millis(100),
        };
        let refused = (driver.open)(opening).and_then(|system| system.connect().map(drop));
        match refused {
            Err(SystemError::Unreachable { system, address: named, why }) => {
                assert_eq!((system.as_str(), named), (driver.name, address.to_string()));
                assert!(why.contains("answer"), "{}: {why}", driver.name);
            }
            other => panic!("{}: {other:?}", driver.name),
        }
    }
}
