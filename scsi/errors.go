package scsi

import (
	"errors"
	"fmt"
)

// Errors of the decoders and builders. They are fixed values: returning one does not allocate. The
// error a function returns names the structure and wraps one of these.
var (
	// ErrShort says that the bytes end before a field that the structure must have. The caller treats
	// the data as unusable, or asks again with a longer allocation length.
	ErrShort = errors.New("too short")

	// ErrFormat says that the bytes are not the structure asked for: another opcode, page or response
	// code, or a length that contradicts the bytes. The caller treats the peer as broken.
	ErrFormat = errors.New("malformed")

	// ErrRange says that a value does not fit the field it was to be written to. The caller asked for
	// something the format cannot say; retrying does not help.
	ErrRange = errors.New("out of range")
)

func shortError(what string) error  { return fmt.Errorf("scsi: %s: %w", what, ErrShort) }
func formatError(what string) error { return fmt.Errorf("scsi: %s: %w", what, ErrFormat) }
func rangeError(what string) error  { return fmt.Errorf("scsi: %s: %w", what, ErrRange) }
