// Package psk is the server of TLS connections whose two ends know each other by a key
// that they have been given beforehand: TLS 1.3 with external pre-shared keys, which
// crypto/tls does not have. It must not do anything else: no certificates, no
// resumption, no early data, no older version.
//
// # What is spoken
//
// The key exchange psk_dhe_ke over X25519 or P-256, so that what was recorded stays
// secret when a key gets known later, and the cipher suite TLS_AES_128_GCM_SHA256.
// There is one hash only, because a key that was given from outside belongs to one, and
// that is SHA-256 unless somebody says otherwise; the other suite with it, ChaCha20, is
// not in Go's library, and every client has the one with AES.
//
// # Ownership
//
// Server makes a Conn of a socket, which stays the caller's to close. Of a Conn, Read is
// one goroutine's at a time, and Write and CloseWrite are another's.
//
// # Levels
//
// All is Passive. Nothing is allocated by Read and Write but at a change of keys.
//
// # State machine
//
//	state      event                                   state, action
//	start      ClientHello with a share for our group  wait, ServerHello … Finished
//	start      ClientHello without                     retry, HelloRetryRequest
//	retry      ClientHello with the share asked for    wait, ServerHello … Finished
//	start      no key of this identity, wrong binder   closed, decrypt_error
//	wait       Finished                                open
//	open       data, KeyUpdate                         open
//	open       close_notify                            ended, Read returns io.EOF
//	any        anything else                           closed, alert
//
// # Errors
//
// Error is what a client did wrong, RemoteError an alert that it sent; errors of the
// socket come as they are. A client cannot tell an identity that nobody has from a key
// that is wrong: both get as far, and are answered with the same bytes.
//
// # Testing
//
// The key schedule is tested with the vectors of RFC 8448 and those of NIST, the
// handshake by clients of OpenSSL and GnuTLS and by one that makes every mistake.
// ClientHello is fuzzed against crypto/tls; handshakes and records are fuzzed alone.
//
// # Clauses
//
// RFC 8446, TLS 1.3: 4.1.2 to 4.2.11 as a server that has external keys, 4.4.4, 4.6.3,
// 5, 6, 7.1 to 7.4, D.4. RFC 9257: keys of 128 bits or more. The file of keys is that of
// GnuTLS's psktool.
package psk
