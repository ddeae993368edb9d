package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"minisrp/cmd/srpd/config"
)

// What a user is told of a file that is wrong.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "srpd.toml")
	if err := os.WriteFile(file, []byte("[session]\nchannels = 0\nqueue = 7\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	_, err = config.Load(context.Background(), file)
	fmt.Println(strings.ReplaceAll(err.Error(), dir+"/", ""))
	// Output:
	// srpd.toml:2: session.channels: it is 0, want 1 to 64
	// srpd.toml:3: session.queue: no such option: want channels, queue-size, protect
}
