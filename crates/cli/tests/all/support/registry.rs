//! Debian's `docker-registry` on loopback, for one test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use sha2::{Digest, Sha256};

/// A registry that ends with the test.
pub(crate) struct Registry {
    process: Child,
    /// `host:port`
    pub(crate) address: String,
}

impl Registry {
    /// Starts the program with its data in a folder.
    pub(crate) fn start(program: &Path, folder: &Path) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let data = folder.join("registry");
        let config = json!({
            "version": 0.1, "log": {"level": "error"}, "http": {"addr": address},
            "storage": {"filesystem": {"rootdirectory": data}},
        });
        let file = folder.join("registry.yml");
        std::fs::write(&file, config.to_string()).unwrap();
        let process =
            Command::new(program).arg("serve").arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let registry = Self { process, address };
        let start = Instant::now();
        while TcpStream::connect(&registry.address).is_err() {
            assert!(start.elapsed() < Duration::from_secs(30), "docker-registry doesn't answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        registry
    }

    /// The digest that the registry itself names for a tag, read from its header by hand.
    pub(crate) fn digest(&self, repository: &str, tag: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        let accept = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json";
        let request = format!(
            "HEAD /v2/{repository}/manifests/{tag} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n",
            self.address
        );
        connection.write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        connection.read_to_string(&mut head).unwrap();
        let header = head.lines().find_map(|line| line.strip_prefix("Docker-Content-Digest: "));
        header.unwrap_or_else(|| panic!("no digest in {head}")).trim().to_owned()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program, or none where it isn't installed, which CI must not hide.
pub(crate) fn program() -> Option<PathBuf> {
    let named = std::env::var_os("DOCKER_REGISTRY").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = named.or_else(|| {
        std::env::split_paths(&path).map(|folder| folder.join("docker-registry")).find(|file| file.exists())
    });
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "docker-registry is missing; CI installs Debian's package");
        // Past the test runner's capture: a skipped check says so.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: tests with a registry need docker-registry (Debian's package) on PATH or in DOCKER_REGISTRY"
        );
    }
    found
}

/// `sha256:…` of some bytes.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
