package bytesize

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Size is an option's number of bytes, with K, M, G or T for powers of 1024.
type Size uint64

const units = "KMGT"

// Set reads a size, above 0 and below 2^62.
func (s *Size) Set(text string) error {
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	v, err := strconv.ParseUint(text[:end], 10, 63)
	shift := 0
	if unit := strings.ToUpper(text[end:]); unit != "" {
		i := strings.IndexByte(units, unit[0])
		if i < 0 || unit[1:] != "" && unit[1:] != "B" && unit[1:] != "IB" {
			err = strconv.ErrSyntax
		}
		shift = 10 * (i + 1)
	}
	if err != nil || v == 0 || bits.Len64(v)+shift > 62 {
		return errors.New("want a number of bytes above 0, with K, M, G or T for powers of 1024, such as 8G")
	}
	*s = Size(v << shift)
	return nil
}

// String returns what Set reads, nothing for 0.
func (s *Size) String() string {
	if *s == 0 {
		return ""
	}
	return Format(uint64(*s))
}

// Type names the kind of value in help texts.
func (s *Size) Type() string { return "size" }

// Format writes a number of bytes so that Set reads it, in the largest unit that it is a multiple of.
func Format(n uint64) string {
	for i := len(units); i > 0; i-- {
		if n != 0 && n%(1<<(10*i)) == 0 {
			return fmt.Sprintf("%d%c", n>>(10*i), units[i-1])
		}
	}
	return strconv.FormatUint(n, 10)
}
