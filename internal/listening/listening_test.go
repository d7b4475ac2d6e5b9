//go:build unix

package listening

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// TestMain is also the process that sockets are passed on to: it responds to one
// connection of each address that its arguments name.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "successor" {
		if err := succeed(os.Args[2:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func succeed(addresses []string) error {
	s, err := Inherited()
	if err != nil {
		return err
	}
	for _, a := range addresses {
		l, err := s.Listen(context.Background(), addressOf(a))
		if err != nil {
			return err
		}
		fmt.Println("on", l.Addr())
		c, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Fprintln(c, "successor")
		if err := c.Close(); err != nil {
			return err
		}
	}
	if rest := s.Unused(); len(rest) > 0 {
		fmt.Println("unused", rest)
	}
	return s.Close()
}

func addressOf(text string) Address {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		return Address{Unix: path}
	}
	return Address{TCP: text}
}

func said(t *testing.T, network, address string) string {
	t.Helper()
	c, err := net.Dial(network, address)
	fatal.If(t, err)
	defer c.Close()
	line, err := bufio.NewReader(c).ReadString('\n')
	fatal.If(t, err)
	return line
}

func listen(t *testing.T, s *Set, at Address) net.Listener {
	t.Helper()
	l, err := s.Listen(t.Context(), at)
	fatal.If(t, err)
	return l
}

// TestPass: what was bound goes to another process, which knows it by what was
// configured, and the first process may end.
func TestPass(t *testing.T) {
	s := &Set{}
	path := filepath.Join(t.TempDir(), "s")
	tcp := listen(t, s, Address{TCP: "127.0.0.1:0"})
	unused := listen(t, s, Address{TCP: "localhost:0"})
	listen(t, s, Address{Unix: path, Mode: 0o600})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "successor", "127.0.0.1:0", "unix:"+path)
	cmd.Env = os.Environ()
	fatal.If(t, s.Pass(cmd))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	fatal.If(t, err)
	for _, f := range cmd.ExtraFiles {
		if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
			t.Errorf("the socket blocks whoever accepts from it: %#x, %v", flags, err)
		}
		_ = f.Close() // the child has its own
	}
	fatal.If(t, s.Close())
	for _, at := range []net.Addr{tcp.Addr(), &net.UnixAddr{Name: path, Net: "unix"}} {
		fatal.Same(t, said(t, at.Network(), at.String()), "successor\n", "%s says", at)
	}
	b, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if want := "unused [localhost:0]"; !strings.Contains(string(b), want) || !strings.Contains(string(b), "on "+tcp.Addr().String()) {
		t.Errorf("it said %s, want %s (%s)", b, want, unused.Addr())
	}
}

// TestSystemd has systemd's own tool bind the sockets.
func TestSystemd(t *testing.T) {
	tool, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		needs.Missing(t, "systemd-socket-activate", "apt-get install systemd")
	}
	path := filepath.Join(t.TempDir(), "s")
	// An address of its own, so that no other process takes the port between.
	own := fmt.Sprintf("127.%d.%d.%d:0", 1+os.Getpid()>>16&0x7f, os.Getpid()>>8&0xff, 1+os.Getpid()&0x7f)
	probe := listen(t, &Set{}, Address{TCP: own})
	tcp := probe.Addr().String()
	fatal.If(t, probe.Close())
	cmd := exec.CommandContext(t.Context(), tool, "-l", tcp, "-l", path, os.Args[0], "successor", tcp, "unix:"+path)
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	fatal.If(t, err)
	r := bufio.NewReader(errs)
	for range 2 { // it says that it listens, then where
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []Address{{TCP: tcp}, {Unix: path}} { // in the order in which the successor accepts
		network := "tcp"
		if at.Unix != "" {
			network = "unix"
		}
		fatal.Same(t, said(t, network, at.TCP+at.Unix), "successor\n", "%s says", at)
	}
	_, _ = io.Copy(io.Discard, r)
	fatal.If(t, cmd.Wait())
}

// TestOthersFiles: what is not for this process, or makes no sense, is not taken.
func TestOthersFiles(t *testing.T) {
	for _, c := range []struct {
		pid, fds, passed string
		bad              bool
	}{
		{pid: "1", fds: "3"},
		{pid: "", fds: "3"},
		{pid: "own", fds: "x", bad: true},
		{pid: "own", fds: "-1", bad: true},
		{pid: "own", fds: "99999", bad: true},
		{passed: "x", bad: true},
		{passed: "3 a", bad: true},
		{passed: "3"},
	} {
		pid := c.pid
		if pid == "own" {
			pid = fmt.Sprint(os.Getpid())
		}
		t.Setenv("LISTEN_PID", pid)
		t.Setenv("LISTEN_FDS", c.fds)
		t.Setenv(passedEnv, c.passed)
		if s, err := Inherited(); (err != nil) != c.bad || err == nil && len(s.passed) > 0 {
			t.Errorf("%+v: %+v, %v", c, s, err)
		}
		fatal.Same(t, os.Getenv("LISTEN_FDS")+os.Getenv(passedEnv), "", "%+v is left for whoever is started", c)
	}
}

// TestUnixSocket: a file that is left of a process that has ended makes room, and
// nothing else does.
func TestUnixSocket(t *testing.T) {
	dir := t.TempDir()
	at := Address{Unix: filepath.Join(dir, "s"), Mode: 0o620}
	first := listen(t, &Set{}, at)
	if info, err := os.Stat(at.Unix); err != nil || info.Mode().Perm() != 0o620 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := (&Set{}).Listen(t.Context(), at); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Error(err)
	}
	fatal.If(t, first.Close())
	if _, err := os.Stat(at.Unix); err != nil {
		t.Errorf("closing removes what another process may listen on: %v", err)
	}
	listen(t, &Set{}, at)

	file := filepath.Join(dir, "file")
	fatal.If(t, os.WriteFile(file, []byte("mine"), 0o600))
	link := filepath.Join(dir, "link")
	fatal.If(t, os.Symlink(at.Unix, link))
	for _, path := range []string{file, link, dir} {
		if _, err := (&Set{}).Listen(t.Context(), Address{Unix: path}); err == nil || !strings.Contains(err.Error(), "is no socket") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := (&Set{}).Listen(t.Context(), Address{Unix: filepath.Join(dir, "none", "s")}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestModeFromTheBeginning: a Unix socket's file never has a bit that its mode has not, whatever the
// umask: who may not connect cannot before the mode is set either.
func TestModeFromTheBeginning(t *testing.T) {
	if runtime.GOOS != "linux" {
		needs.Missing(t, "Linux", "none: sockets have no mode of their own elsewhere")
	}
	before := unix.Umask(0)
	defer unix.Umask(before)
	at := Address{Unix: filepath.Join(t.TempDir(), "s"), Mode: 0o620}
	l, err := listenUnix(t.Context(), at)
	fatal.If(t, err)
	defer l.Close()
	if info, err := os.Stat(at.Unix); err != nil || info.Mode().Perm() != at.Mode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestModeOfATakenOverSocket: it is that of the successor's config once the successor asks for it,
// and the predecessor's until then; and what has come in the place of the socket keeps its own.
func TestModeOfATakenOverSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, &Set{}, Address{Unix: path, Mode: 0o666})
	s := &Set{passed: []socket{{"unix:" + path, l}}}
	listen(t, s, Address{Unix: path, Mode: 0o600})
	mode := func() fs.FileMode {
		info, err := os.Lstat(path)
		fatal.If(t, err)
		return info.Mode().Perm()
	}
	fatal.Same(t, mode(), 0o666, "before the successor has taken over")
	if err := s.SetModes(); err != nil || mode() != 0o600 {
		t.Errorf("%o, %v", mode(), err)
	}
	s.passed, s.open = s.open, nil
	listen(t, s, Address{Unix: path, Mode: 0o666})
	fatal.If(t, os.Remove(path))
	fatal.If(t, os.WriteFile(path, nil, 0o400))
	if err := s.SetModes(); err == nil || mode() != 0o400 {
		t.Errorf("a file got %o, %v", mode(), err)
	}
}

// TestBound holds the address that systemd was given to what is configured.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		at, want string
		is       bool
	}{
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"127.0.0.1:80", "localhost:80", true},
		{"127.0.0.1:80", ":80", false},
		{"[::]:80", ":80", true},
		{"0.0.0.0:80", ":80", true},
		{"[::]:80", "0.0.0.0:80", true},
		{"[::]:81", ":80", false},
		{"[::ffff:127.0.0.1]:80", "127.0.0.1:80", true},
		{"127.0.0.1:80", "unix:/s", false},
		{"unix:/s", "unix:/s", true},
		{"unix:/s", ":80", false},
	} {
		var a net.Addr = &net.UnixAddr{Name: strings.TrimPrefix(c.at, "unix:"), Net: "unix"}
		if !strings.HasPrefix(c.at, "unix:") {
			a, _ = net.ResolveTCPAddr("tcp", c.at)
		}
		fatal.Same(t, bound(a, addressOf(c.want)), c.is, "%s for %s", c.at, c.want)
	}
}

func TestNotify(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	fatal.If(t, Notify("READY=1"))
	path := filepath.Join(t.TempDir(), "n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	fatal.If(t, err)
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	fatal.If(t, Notify("READY=1", "MAINPID=5"))
	b := make([]byte, 100)
	if n, err := l.Read(b); err != nil || string(b[:n]) != "READY=1\nMAINPID=5" {
		t.Errorf("%q, %v", b[:n], err)
	}
}
