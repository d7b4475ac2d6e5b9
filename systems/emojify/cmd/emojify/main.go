// Command emojify covers the faces in pictures. Its API, cache and face
// detection run as one process or as one process each.
package main

import (
	"context"
	"os"

	"whittle/cmdline"
)

func main() {
	ctx, stop := cmdline.UntilSignal(context.Background())
	status := Run(ctx, os.Args[1:], streams{out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(status)
}
