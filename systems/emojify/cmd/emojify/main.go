// Command emojify covers the faces in pictures: an API, a cache and face
// detection, as one process or each as its own.
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
