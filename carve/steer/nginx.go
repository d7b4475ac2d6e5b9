package steer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"whittle"
	"whittle/internal/notify"
)

// nginx is a file of the configuration that whittle writes, and has read by SIGHUP. A share of 0
// is in force before that, by a flag file that nginx looks for in each request. nginx itself says,
// by a location of its own, what is in force and what its workers have read, which is another
// share while the flag is there: so a configuration that it refuses confirms nothing.
type nginx struct {
	whittle.SteerNginx
	client *http.Client
}

func (n *nginx) Set(ctx context.Context, share whittle.Share) error {
	if share == 0 {
		if err := replace(n.Flag, []byte("the share is 0\n")); err != nil {
			return err
		}
	}
	text := n.text(share)
	old, err := os.ReadFile(n.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(old, text) {
		if err := replace(n.File, text); err != nil {
			return err
		}
	}
	if err := n.reload(); err != nil || share == 0 {
		return err
	}
	for { // or those with an older file would do without the flag
		_, loaded, err := n.shares(ctx)
		if err == nil && loaded == share {
			break
		}
		if !notify.Sleep(ctx, settleEvery) {
			return cmp.Or(err, fmt.Errorf("its workers still have %s: its error log says whether it has refused %s", percent(loaded), n.File))
		}
	}
	if err := os.Remove(n.Flag); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// text is the file: users by the hash of their key, those of a smaller share among them.
func (n *nginx) text(share whittle.Share) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by whittle, which has nginx read it.\nsplit_clients $%s_user $%s_side {\n", n.Name, n.Name)
	switch {
	case share >= whittle.All:
		b.WriteString("  * candidate;\n}\n")
	case share > 0:
		fmt.Fprintf(&b, "  %.2f%% candidate;\n", share.Percent())
		fallthrough
	default:
		b.WriteString("  * monolith;\n}\n")
	}
	fmt.Fprintf(&b, "map $host $%s_share { default %d; }\n", n.Name, share)
	return b.Bytes()
}

func (n *nginx) reload() error {
	b, err := os.ReadFile(n.PIDFile)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("%s holds no number of a process", n.PIDFile)
	}
	// A number that was nginx's may be somebody else's by now.
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && !strings.HasPrefix(string(name), "nginx") {
		return fmt.Errorf("process %d of %s is not nginx, but %s", pid, n.PIDFile, bytes.TrimSpace(name))
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		return fmt.Errorf("SIGHUP to process %d of %s: %w", pid, n.PIDFile, err)
	}
	return nil
}

func (n *nginx) Read(ctx context.Context) (whittle.Share, error) {
	inForce, _, err := n.shares(ctx)
	return inForce, err
}

// shares are the share in force, and the one of the file that nginx has read.
func (n *nginx) shares(ctx context.Context) (inForce, loaded whittle.Share, err error) {
	b, err := ask(ctx, n.client, http.MethodGet, n.URL, nil)
	if err != nil {
		return 0, 0, err
	}
	words := strings.Fields(string(b))
	if len(words) != 2 {
		return 0, 0, fmt.Errorf("GET %s: %q, and not the share in force and the one of the file", n.URL, b)
	}
	if inForce, err = parseShare(words[0]); err == nil {
		loaded, err = parseShare(words[1])
	}
	return inForce, loaded, err
}

// replace writes a file in one step.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // nothing is there, once it has its name
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()) // nginx's workers read it
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
