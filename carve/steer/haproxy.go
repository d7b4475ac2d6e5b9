package steer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"

	"whittle"
)

// haproxy is an entry of a map in one HAProxy, by its runtime API: a command on a connection
// of its own, and the response up to its end.
type haproxy struct {
	socket string
	entry  string // "MAP KEY"
}

func (h *haproxy) Set(ctx context.Context, share whittle.Share) error {
	said, err := h.ask(ctx, "set map "+h.entry+" "+strconv.Itoa(int(share)))
	if err == nil && said != "" {
		err = fmt.Errorf("set map %s: it says %q", h.entry, said)
	}
	return err
}

var mapValue = regexp.MustCompile(`\bvalue="([^"]*)"`)

func (h *haproxy) Read(ctx context.Context) (whittle.Share, error) {
	said, err := h.ask(ctx, "get map "+h.entry)
	if err != nil {
		return 0, err
	}
	m := mapValue.FindStringSubmatch(said)
	if m == nil {
		return 0, fmt.Errorf("get map %s: it says %q", h.entry, said)
	}
	return parseShare(m[1])
}

// ask gives a command and takes the response, without the lines around it.
func (h *haproxy) ask(ctx context.Context, command string) (string, error) {
	network, address := "tcp", h.socket
	if path, is := strings.CutPrefix(h.socket, "unix:"); is {
		network, address = "unix", path
	}
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err = io.WriteString(c, command+"\n"); err != nil {
		return "", cause(ctx, err)
	}
	b, err := io.ReadAll(io.LimitReader(c, maxReply))
	return strings.TrimSpace(string(b)), cause(ctx, err)
}

// cause is why an attempt failed: that its time was over, or the error.
func cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("no response in time")
	}
	return err
}

// parseShare reads a share in hundredths of a percent.
func parseShare(s string) (whittle.Share, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n > uint64(whittle.All) {
		return 0, fmt.Errorf("%q is no share: it is a number from 0 to %d", s, whittle.All)
	}
	return whittle.Share(n), nil
}
