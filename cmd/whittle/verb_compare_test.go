package main

import (
	"bytes"
	"strings"
	"testing"

	"whittle/cmdline"
)

func whittleOnce(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = Run(t.Context(), args, cmdline.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return status, o.String(), e.String()
}
