//! The first bytes of each side.

use crate::wire::{Reader, VERSION};
use crate::{ExchangeError, ExchangeKey};

const MAGIC: [u8; 8] = *b"crivo-x\n";

/// The first bytes of each side of an exchange: what it is, its version, and 16 random bytes.
///
/// It has a fixed length, so that it can be read before anything is known about the peer.
///
/// ```
/// use crivo_exchange::Greeting;
///
/// let (ours, theirs) = (Greeting::new([1; 16]), Greeting::new([2; 16]));
/// let received = Greeting::from_bytes(&theirs.to_bytes())?;
/// assert_eq!(received, theirs);
/// let key = ours.key_as_initiator(&received); // theirs: key_as_responder
/// assert_eq!(key, theirs.key_as_responder(&ours));
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    contribution: [u8; 16],
}

impl Greeting {
    /// Its length in bytes.
    ///
    /// ```
    /// use crivo_exchange::Greeting;
    ///
    /// assert_eq!(Greeting::new([7; 16]).to_bytes().len(), Greeting::LENGTH);
    /// ```
    pub const LENGTH: usize = 25;

    /// A greeting with these random bytes, which must be fresh and unpredictable.
    ///
    /// ```
    /// use crivo_exchange::Greeting;
    ///
    /// assert_ne!(Greeting::new([7; 16]), Greeting::new([8; 16]));
    /// ```
    pub const fn new(contribution: [u8; 16]) -> Self {
        Self { contribution }
    }

    /// The bytes to send.
    ///
    /// ```
    /// use crivo_exchange::Greeting;
    ///
    /// assert!(Greeting::new([7; 16]).to_bytes().ends_with(&[7; 16]));
    /// ```
    pub fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = VERSION;
        bytes[9..].copy_from_slice(&self.contribution);
        bytes
    }

    /// Decodes a greeting.
    ///
    /// ```
    /// use crivo_exchange::{ExchangeError, Greeting};
    ///
    /// let greeting = Greeting::new([7; 16]);
    /// assert_eq!(Greeting::from_bytes(&greeting.to_bytes())?, greeting);
    /// let error = Greeting::from_bytes(b"GET / HTTP/1.1\r\nHost: ana").unwrap_err();
    /// assert_eq!(error, ExchangeError::NotCrivo);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not a greeting, or one of another version.
    pub fn from_bytes(bytes: &[u8; Self::LENGTH]) -> Result<Self, ExchangeError> {
        let mut reader = Reader::new(bytes);
        if reader.array()? != MAGIC {
            return Err(ExchangeError::NotCrivo);
        }
        match reader.byte()? {
            VERSION => Ok(Self { contribution: reader.array()? }),
            other => Err(ExchangeError::UnknownVersion(other)),
        }
    }

    /// The key of the exchange, if this side began it.
    ///
    /// ```
    /// use crivo_exchange::Greeting;
    ///
    /// let (here, there) = (Greeting::new([1; 16]), Greeting::new([2; 16]));
    /// assert_eq!(here.key_as_initiator(&there), there.key_as_responder(&here));
    /// ```
    pub fn key_as_initiator(&self, peer: &Self) -> ExchangeKey {
        ExchangeKey::agreed(self.contribution, peer.contribution)
    }

    /// The key of the exchange, if the peer began it.
    ///
    /// ```
    /// use crivo_exchange::Greeting;
    ///
    /// let (here, there) = (Greeting::new([1; 16]), Greeting::new([2; 16]));
    /// assert_ne!(here.key_as_responder(&there), there.key_as_responder(&here));
    /// ```
    pub fn key_as_responder(&self, peer: &Self) -> ExchangeKey {
        peer.key_as_initiator(self)
    }
}
