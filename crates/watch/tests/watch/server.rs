//! The server answers all who ask, whatever others do.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use frostline_store::{Format, Open, Store};
use frostline_watch::{FetchError, Server, fetch};
use frostline_zone::{Shape, in_memory};

fn store() -> Store {
    let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() }).unwrap();
    Store::format(device.clone(), &Format::default()).unwrap();
    Store::open(device, Open::default()).unwrap()
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

fn get(address: SocketAddr, path: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
}

fn any() -> Server {
    Server::bind("127.0.0.1:0".parse().unwrap()).unwrap()
}

#[test]
fn page_zones_and_metrics_are_served_and_nothing_else() {
    let (server, store) = (any(), store());
    let address = server.address();
    server
        .during(&store, || {
            let page = get(address, "/?x");
            assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{page}");
            assert!(page.ends_with("</html>\n"));
            let metrics = get(address, "/metrics");
            assert!(
                metrics.contains("\nfrostline_pages_written_total{by=\"user\"} 0\n"),
                "{metrics}"
            );
            assert!(get(address, "/zones").contains("\"role\":\"empty\""));
            assert!(get(address, "/../zones").starts_with("HTTP/1.1 404 "));
            assert!(ask(address, "POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
            assert!(ask(address, "\r\n\r\n").starts_with("HTTP/1.1 405 "));
        })
        .unwrap();
    assert!(TcpStream::connect(address).is_ok(), "the address is kept for what comes next");
}

#[test]
fn a_name_of_another_site_that_leads_here_is_told_nothing() {
    let store = Arc::new(store());
    let watching = any().known_as("frost.example").spawn(store).unwrap();
    let address = watching.address();
    let asked = |path: &str, hosts: &[&str]| {
        let hosts: String = hosts.iter().map(|host| format!("hOsT:  {host} \r\n")).collect();
        ask(address, &format!("GET {path} HTTP/1.1\r\nAccept: */*\r\n{hosts}\r\n"))
    };
    for path in ["/", "/zones", "/metrics", "/none"] {
        for hosts in [
            &["evil.example"][..],
            &["evil.example:9464"],
            &["localhost", "evil.example"],
            &["evil\"\x1b.example"],
            &[""],
        ] {
            let answer = asked(path, hosts);
            assert!(answer.starts_with("HTTP/1.1 421 "), "{hosts:?}: {answer}");
            let body = answer.split_once("\r\n\r\n").unwrap().1;
            let is_line =
                body.trim_end_matches('\n').chars().all(|c| c == ' ' || c.is_ascii_graphic());
            assert!(body.contains("not a name of this server") && is_line, "{body}");
        }
    }
    for host in ["127.0.0.1", "localhost:80", "[::1]:9464", "frost.example", "10.1.2.3"] {
        assert!(asked("/metrics", &[host]).starts_with("HTTP/1.1 200 "), "{host}");
    }
    assert!(asked("/metrics", &[]).starts_with("HTTP/1.1 200 "), "a client that says no host");
}

#[test]
fn the_page_names_no_other_host() {
    let page = include_str!("../../src/page.html");
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src="));
}

#[test]
fn clients_that_say_nothing_do_not_keep_others_waiting() {
    let store = Arc::new(store());
    let watching = any().spawn(store.clone()).unwrap();
    let silent: Vec<_> = (0..8).map(|_| TcpStream::connect(watching.address()).unwrap()).collect();
    store.write(3, &[7; 4096]).unwrap();
    let view = fetch(watching.address()).unwrap();
    assert_eq!((view.written.user, view.zones.len()), (1, store.zones().unwrap().len()));
    drop(silent);
}

#[test]
fn an_address_that_no_one_serves_any_more_is_an_error() {
    let watching = any().spawn(Arc::new(store())).unwrap();
    let address = watching.address();
    drop(watching);
    assert!(matches!(fetch(address), Err(FetchError::Io(_))));
}

/// The error of fetching from a server that gives this answer.
fn fetched(answer: &'static str) -> FetchError {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        // A connection that is closed with a part of the request unread is reset.
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            request.extend(byte);
        }
        client.write_all(answer.as_bytes()).unwrap();
    });
    let error = fetch(address).unwrap_err();
    server.join().unwrap();
    error
}

#[test]
fn an_answer_that_is_no_view_is_an_error_with_its_reason() {
    let told = |answer| fetched(answer).to_string();
    assert_eq!(told("HTTP/1.1 404 Not Found\r\n\r\nnothing here\n"), "nothing here");
    assert_eq!(told("HTTP/1.1 404 Not Found\r\n\r\n"), "HTTP/1.1 404 Not Found");
    assert_eq!(told(""), "an empty answer");
    let other = told("HTTP/1.1 200 OK\r\n\r\n{\"zones\": 3}");
    assert!(other.starts_with("the answer is no view of a store: "), "{other}");
}
