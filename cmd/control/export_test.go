package control

import "io"

// Decode reads a request.
func Decode(r io.Reader, q any) error { return decode(r, q, q.(request)) }
