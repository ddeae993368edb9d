package nbd

import (
	"context"
	"fmt"

	"minisrp/cmd/srpd/nbd/psk"
)

// Keys are what a server and its TLS clients know each other by when they have been
// given keys beforehand. They come from a file as GnuTLS's psktool writes it, with a line
// IDENTITY:KEY for each client. A file that has been replaced is read again when the
// next client comes; who is connected stays.
//
// Ownership: anyone's.
type Keys struct{ file reloaded[*psk.Keys] }

// LoadKeys reads a file, which nobody but its owner and group may read.
//
//level:passive
func LoadKeys(path string) (*Keys, error) {
	k := &Keys{}
	k.file.files = []string{path}
	k.file.load = func() (*psk.Keys, error) {
		all, err := psk.Load(path)
		if err != nil {
			return nil, fmt.Errorf("TLS keys: %w", err)
		}
		return all, nil
	}
	_, err := k.file.get()
	return k, err
}

// handshake implements Credentials. The name is the identity.
func (k *Keys) handshake(ctx context.Context, w *wire) (c tlsConn, name string, stale, err error) {
	keys, stale := k.file.get()
	conn, err := psk.Server(ctx, w, keys)
	if err != nil {
		return nil, "", stale, err
	}
	return conn, conn.Identity(), stale, nil
}
