package steer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"whittle"
)

// command is a program that sets the share, and perhaps one that reads it. That the first ends
// with 0 is its confirmation.
type command struct {
	route     string
	set, read []string
}

func (c *command) Set(ctx context.Context, share whittle.Share) error {
	_, err := c.run(ctx, c.set, "WHITTLE_ROUTE="+c.route,
		"WHITTLE_SHARE="+strconv.FormatFloat(share.Percent(), 'f', -1, 64), "WHITTLE_SHARE_BP="+strconv.Itoa(int(share)))
	return err
}

func (c *command) Read(ctx context.Context) (whittle.Share, error) {
	if c.read == nil {
		return 0, errUnread
	}
	said, err := c.run(ctx, c.read, "WHITTLE_ROUTE="+c.route)
	if err != nil {
		return 0, err
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(said), "%"), 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return 0, fmt.Errorf("%s: it writes %q, and no share in percent", c.read[0], said)
	}
	return whittle.Percent(percent), nil
}

// run runs a program with its children until ctx ends at most, and gives what it wrote.
func (c *command) run(ctx context.Context, argv []string, env ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // somebody else may keep what it writes to open
	var out, errs bounded
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s: it has not ended in time", argv[0])
	case err != nil:
		return "", fmt.Errorf("%s: %w: %s", argv[0], err, errs.String())
	}
	return out.String(), nil
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, maxReply-b.Len()))])
	return len(p), nil
}
