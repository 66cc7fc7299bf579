//! What the binaries have in common.

use std::fmt::Display;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::process::ExitCode;

/// Logs to standard error what `RUST_LOG` asks for; by default warnings.
pub fn start_logging() {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
}

/// The exit status of a program, after its error, if any, is printed.
pub fn finish<E: Display>(program: &str, result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::from(2)
        }
    }
}

/// The address with a port that is free now, if its port is 0.
///
/// # Errors
/// If nobody can listen there.
pub fn free_port(address: SocketAddr) -> io::Result<SocketAddr> {
    match address.port() {
        0 => TcpListener::bind(address)?.local_addr(),
        _ => Ok(address),
    }
}

/// The parts of `HOST:PORT`.
///
/// # Errors
/// If the text is none.
pub fn host_and_port(text: &str) -> io::Result<(String, u16)> {
    let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match parts {
        Some((host, port)) if !host.is_empty() => Ok((host.to_owned(), port)),
        _ => {
            let message = format!("{text:?} is not HOST:PORT");
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

/// An address as it is written before `:PORT`.
pub fn host(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Waits until the process is asked to end.
///
/// # Errors
/// If signals cannot be received.
pub async fn termination() -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            result = tokio::signal::ctrl_c() => result,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_make_addresses() {
        for text in ["127.0.0.1:50050", "[::1]:50050", "[::]:0"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(format!("{}:{}", host(address.ip()), address.port()), text);
            assert_eq!(host_and_port(text).unwrap(), (host(address.ip()), address.port()));
        }
        for text in ["localhost", ":50050", "localhost:x"] {
            assert!(host_and_port(text).is_err(), "{text}");
        }
    }
}
