package main

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// byteSize is an option's number of bytes, with K, M, G or T for powers of 1024.
type byteSize uint64

const units = "KMGT"

// Set reads a size.
func (s *byteSize) Set(text string) error {
	number, shift := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I"), 0
	if n := len(number); n > 0 {
		if i := strings.IndexByte(units, number[n-1]); i >= 0 {
			number, shift = number[:n-1], 10*(i+1)
		}
	}
	v, err := strconv.ParseUint(number, 10, 63)
	if err != nil || v == 0 || bits.Len64(v)+shift > 62 {
		return fmt.Errorf("want a number of bytes above 0, with K, M, G or T for powers of 1024, such as 8G")
	}
	*s = byteSize(v << shift)
	return nil
}

func (s *byteSize) String() string {
	if *s == 0 {
		return ""
	}
	return formatSize(uint64(*s))
}

// Type names the kind of value in help texts.
func (s *byteSize) Type() string { return "size" }

// formatSize writes a number of bytes so that Set reads it, in the largest unit that it is a multiple of.
func formatSize(n uint64) string {
	for i := len(units); i > 0; i-- {
		if n != 0 && n%(1<<(10*i)) == 0 {
			return fmt.Sprintf("%d%c", n>>(10*i), units[i-1])
		}
	}
	return strconv.FormatUint(n, 10)
}
