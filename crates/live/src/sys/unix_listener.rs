//! A listening UNIX socket whose file is never open to more users than it should be.
//!
//! std offers no moment between socket(2) and bind(2).

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketType};

use super::socket;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 64;
/// Without the zero that ends it.
const MOST_PATH_BYTES: usize = 107;

/// Listens at `path`, without blocking. The mode of the file is `mode`, less the bits in the process's umask: from the
/// moment at which it appears, no user has a permission that is not in `mode`.
///
/// # Errors
/// The path is taken, too long, or not allowed.
pub(crate) fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let bytes = path.as_os_str().as_bytes();
    // A first byte of zero would mean another kind of name.
    if !(1..=MOST_PATH_BYTES).contains(&bytes.len()) || bytes.contains(&0) {
        let text = format!("the path of a socket has 1 to {MOST_PATH_BYTES} bytes, none of them zero");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let socket = File::from(socket::open(AddressFamily::UNIX, SocketType::STREAM)?);
    // Linux gives the new file the mode of the socket, less the umask.
    socket.set_permissions(Permissions::from_mode(mode))?;
    net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    net::listen(&socket, BACKLOG)?;
    Ok(UnixListener::from(OwnedFd::from(socket)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_file_has_no_permission_beyond_its_mode_from_the_start() {
        let path = std::env::temp_dir().join(format!("forebay-listener-{}", std::process::id()));
        // Whatever the umask of this process allows: the mode alone decides.
        let listener = listen(&path, 0o600).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & !0o600, 0, "{mode:o}");
        let _client = UnixStream::connect(&path).unwrap();
        assert!(listener.accept().is_ok());
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(listen(&path, 0o600).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_path_that_does_not_fit_is_refused() {
        for path in [String::new(), "x".repeat(108), "a\0b".to_owned()] {
            assert_eq!(listen(Path::new(&path), 0o600).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
