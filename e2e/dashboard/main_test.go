// Package dashboard takes the dashboard through a walk: the built whittle
// before the Node monolith, with the mended and the published count service
// behind it, and a headless Chromium at its admin address.
package dashboard

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	// patience bounds every wait; nothing is asserted about how much of it is
	// used.
	patience   = time.Minute
	repository = "../.."
	operator   = "the-operator-of-this-test"
	viewer     = "the-viewer-of-this-test"
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "whittle-dashboard-")
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = dir
	status := m.Run()
	if status == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

func build(dir string) error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("node is not installed: `make deps` says how to get it")
	}
	if _, err := os.Stat(filepath.Join(repository, "systems/count/monolith/node_modules")); err != nil {
		return errors.New("the Node monolith's packages are not installed: run `make deps`")
	}
	cmd := exec.Command("go", "build", "-o", dir+"/", "./cmd/whittle", "./systems/count/cmd/...")
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return nil
}

// process is a server that a test started and ends, by the handle it holds.
type process struct {
	cmd           *exec.Cmd
	public, admin string
	ended         chan struct{} // closed when it has been waited for
}

// start runs a server until the test ends, and waits for the line in which it
// says where it listens.
func start(t *testing.T, argv ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	var said bytes.Buffer // read once it has ended
	p.cmd.Stderr = &said
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", argv[0], err)
	}
	line := make(chan string, 1)
	go func() {
		defer close(p.ended)
		r := bufio.NewReader(stdout)
		first, _ := r.ReadString('\n') // empty where it ended before it listened
		line <- first
		_, _ = io.Copy(io.Discard, r)
		_ = p.cmd.Wait() // it is killed in the end
	}()
	t.Cleanup(func() {
		p.kill()
		if strings.Contains(said.String(), "panic:") {
			t.Errorf("%s said\n%s", filepath.Base(argv[0]), &said)
		}
	})
	select {
	case first := <-line:
		for field := range strings.FieldsSeq(first) {
			if v, ok := strings.CutPrefix(field, "public="); ok {
				p.public = v
			}
			if v, ok := strings.CutPrefix(field, "admin="); ok {
				p.admin = v
			}
		}
		if p.public == "" {
			p.kill()
			t.Fatalf("%s does not listen: %q\n%s", filepath.Base(argv[0]), first, &said)
		}
	case <-time.After(patience):
		t.Fatalf("%s did not say where it listens", filepath.Base(argv[0]))
	}
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// gateway is whittle on a folder with its config.
type gateway struct {
	*process
	folder, routes string
	tokens         bool
}

// serve starts the three servers and whittle before them. routes may name the
// services' addresses as MENDED, PUBLISHED and MONOLITH.
func serve(t *testing.T, routes string, tokens bool) *gateway {
	t.Helper()
	t.Setenv("NODE_ENV", "production")
	monolith := start(t, "node", filepath.Join(repository, "systems/count/monolith/server.js"), "--port", "0")
	mended := start(t, filepath.Join(built, "count"), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
	published := start(t, filepath.Join(built, "count-as-published"), "-flaws", "remainder", "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
	g := &gateway{folder: t.TempDir(), tokens: tokens}
	g.routes = strings.NewReplacer("MENDED", mended.public, "PUBLISHED", published.public, "MONOLITH", monolith.public, "WORK", g.folder).
		Replace("monolith: http://MONOLITH\nstate: WORK/whittle.db\n" + routes)
	descriptor, err := os.ReadFile(filepath.Join(repository, "systems/count/count.binpb"))
	for name, content := range map[string][]byte{"count.binpb": descriptor, "operator": []byte(operator), "viewer": []byte(viewer)} {
		if err == nil {
			err = os.WriteFile(filepath.Join(g.folder, name), content, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	g.run(t, "127.0.0.1:0", "127.0.0.1:0")
	return g
}

// run starts whittle at some addresses.
func (g *gateway) run(t *testing.T, public, admin string) {
	t.Helper()
	at := "admin: {listen: \"" + admin + "\"}\n"
	if g.tokens {
		at = "admin: {listen: \"" + admin + "\", token_file: operator, viewer_token_file: viewer}\n"
	}
	path := filepath.Join(g.folder, "whittle.yaml")
	if err := os.WriteFile(path, []byte("listen: "+public+"\n"+at+g.routes), 0o600); err != nil {
		t.Fatal(err)
	}
	g.process = start(t, filepath.Join(built, "whittle"), "run", "-c", path)
}

func (g *gateway) url() string { return "http://" + g.admin + "/" }

// users ask for something all the time, until the test ends. What is answered
// while the gateway is away is not looked at.
func users(t *testing.T, address string, n int, next func(client *http.Client, base string, i int) error) {
	t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport, Timeout: patience}
			for i := k; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := next(client, "http://"+address, i); err != nil {
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
					}
				}
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		wg.Wait()
	})
}

func ask(client *http.Client, method, url, body string, user int) error {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-User", fmt.Sprintf("user-%d", user%499))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
