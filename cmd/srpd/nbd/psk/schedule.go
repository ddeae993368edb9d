package psk

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// hashSize is the size of SHA-256, of all secrets, and of a Finished message's content.
const hashSize = sha256.Size

// secret is a secret of the key schedule (RFC 8446, 7.1).
type secret []byte

var (
	zeros     = make([]byte, hashSize) // never written to
	emptyHash = sha256.Sum256(nil)     // likewise
)

// extract is HKDF-Extract.
func extract(salt, input []byte) secret {
	s, err := hkdf.Extract(sha256.New, input, salt)
	if err != nil { // keys too short for FIPS mode; they are of 128 bits and more
		panic("psk: extract: " + err.Error())
	}
	return s
}

// expand is HKDF-Expand-Label, of up to hashSize bytes.
func (s secret) expand(label string, context []byte, size int) []byte {
	info := binary.BigEndian.AppendUint16(nil, uint16(size))
	info = append(info, byte(len("tls13 ")+len(label)))
	info = append(append(info, "tls13 "...), label...)
	info = append(append(info, byte(len(context))), context...)
	b, err := hkdf.Expand(sha256.New, s, string(info), size)
	if err != nil {
		panic("psk: expand " + label + ": " + err.Error())
	}
	return b
}

// derive is Derive-Secret, of a transcript's hash.
func (s secret) derive(label string, transcript []byte) secret {
	return s.expand(label, transcript, hashSize)
}

// next is the secret of the next stage, with the stage's input.
func (s secret) next(input []byte) secret {
	return extract(s.derive("derived", emptyHash[:]), input)
}

// finished is the content of a Finished message, and of a binder.
func (s secret) finished(transcript []byte) []byte {
	m := hmac.New(sha256.New, s.expand("finished", nil, hashSize))
	m.Write(transcript)
	return m.Sum(nil)
}

// binderLabel is that of keys that were given from outside.
const binderLabel = "ext binder"

// binder is what shows that a client has a key (4.2.11.2).
func binder(early secret, label string, transcript []byte) []byte {
	return early.derive(label, emptyHash[:]).finished(transcript)
}

// direction is what one direction is encrypted with (7.3).
//
// Ownership: that of the half of the connection that it is in.
type direction struct {
	secret secret
	aead   cipher.AEAD // nil: nothing is encrypted yet
	iv     [12]byte
	nonce  [12]byte // scratch
	seq    uint64
}

const keySize = 16

// set has the direction begin with a secret.
func (d *direction) set(s secret) {
	block, err := aes.NewCipher(s.expand("key", nil, keySize))
	if err != nil {
		panic("psk: " + err.Error()) // the size is right
	}
	if d.aead, err = cipher.NewGCM(block); err != nil {
		panic("psk: " + err.Error()) // likewise
	}
	copy(d.iv[:], s.expand("iv", nil, len(d.iv)))
	d.secret, d.seq = s, 0
}

// update replaces the keys (7.2).
func (d *direction) update() { d.set(d.secret.expand("traffic upd", nil, hashSize)) }

// count returns the next record's nonce.
func (d *direction) count() []byte {
	copy(d.nonce[:], d.iv[:])
	n := binary.BigEndian.Uint64(d.nonce[4:])
	binary.BigEndian.PutUint64(d.nonce[4:], n^d.seq)
	d.seq++
	return d.nonce[:]
}
