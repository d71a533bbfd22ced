//! A listening UNIX socket whose file is never open to more users than it should be.
#![allow(unsafe_code, reason = "std offers no moment between socket(2) and bind(2)")]

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::{checked, socket};

/// Connections that wait to be accepted.
const BACKLOG: libc::c_int = 64;

/// Listens at `path`, without blocking. The mode of the file is `mode`, less the bits in the process's umask: from the
/// moment at which it appears, no user has a permission that is not in `mode`.
///
/// # Errors
/// The path is taken, too long, or not allowed.
pub(crate) fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let address = address(path)?;
    let socket = File::from(socket::open(libc::AF_UNIX, libc::SOCK_STREAM)?);
    // Linux gives the new file the mode of the socket, less the umask.
    socket.set_permissions(Permissions::from_mode(mode))?;
    socket::bind(socket.as_fd(), &address)?;
    // SAFETY: takes no pointers.
    checked(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(UnixListener::from(OwnedFd::from(socket)))
}

fn address(path: &Path) -> io::Result<libc::sockaddr_un> {
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as u16, sun_path: [0; 108] };
    let bytes = path.as_os_str().as_bytes();
    // The last byte ends the path; a first byte of zero would mean another kind of name.
    if bytes.is_empty() || bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
        let text = format!("the path of a socket has 1 to {} bytes, none of them zero", address.sun_path.len() - 1);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = from.cast_signed() as libc::c_char;
    }
    Ok(address)
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
