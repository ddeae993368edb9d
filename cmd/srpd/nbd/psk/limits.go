package psk

const (
	// maxPlain is the most that a record carries, in bytes; maxInner that with the
	// content type behind it, and maxSealed the same encrypted (RFC 8446, 5.1, 5.2).
	maxPlain  = 1 << 14
	maxInner  = maxPlain + 1
	maxSealed = maxPlain + 256

	// headerSize is the size of a record's header: type, version, length.
	headerSize = 5

	// maxMessage is the longest handshake message that is taken, in bytes. Clients send
	// less than 2 KiB, with key shares of the post-quantum kind.
	maxMessage = 16 << 10

	// maxIdle is the most records in a row that carry no data: key updates, and those
	// that RFC 8446, D.4, has to be dropped.
	maxIdle = 16

	// rekeyAfter is the number of records after which our key is replaced: AES-GCM is
	// for up to 2^24.5 of them (RFC 8446, 5.5). 256 GiB.
	rekeyAfter = 1 << 24

	// minKey and maxKey are the lengths of keys in bytes: 128 bits at the least (RFC
	// 9257, 6), and what GnuTLS takes at the most.
	minKey = 16
	maxKey = 64

	// maxIdentity is the longest identity in a file, in bytes.
	maxIdentity = 255

	// maxFile is the longest file of keys, in bytes.
	maxFile = 1 << 20
)
