// Package dashboard takes the dashboard through a walk: the built whittle
// before the Node monolith, with the mended and the published count service
// behind it, and a headless Chromium at its admin address.
package dashboard

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

const (
	operator = "the-operator-of-this-test"
	viewer   = "the-viewer-of-this-test"
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) { process.Main(m, build) }

func build() (err error) {
	if err := process.NeedMonolith(); err != nil {
		return err
	}
	built, err = process.Build("./cmd/whittle", "./systems/count/cmd/...")
	return err
}

// gateway is whittle on a folder with its config.
type gateway struct {
	*process.Process
	folder, routes string
	tokens         bool
}

// serve starts the three servers and whittle before them. routes may name the
// services' addresses as MENDED, PUBLISHED and MONOLITH.
func serve(t *testing.T, routes string, tokens bool) *gateway {
	t.Helper()
	t.Setenv("NODE_ENV", "production")
	monolith := process.Start(t, "node", filepath.Join(process.Repository, "systems/count/monolith/server.js"), "--port", "0")
	mended := process.Start(t, filepath.Join(built, "count"), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
	published := process.Start(t, filepath.Join(built, "count-as-published"), "-flaws", "remainder", "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
	g := &gateway{folder: t.TempDir(), tokens: tokens}
	g.routes = strings.NewReplacer("MENDED", mended.Public, "PUBLISHED", published.Public, "MONOLITH", monolith.Public, "WORK", g.folder).
		Replace("monolith: http://MONOLITH\nstate: WORK/whittle.db\n" + routes)
	descriptor, err := os.ReadFile(filepath.Join(process.Repository, "systems/count/count.binpb"))
	for name, content := range map[string][]byte{"count.binpb": descriptor, "operator": []byte(operator), "viewer": []byte(viewer)} {
		if err == nil {
			err = os.WriteFile(filepath.Join(g.folder, name), content, 0o600)
		}
	}
	fatal.If(t, err)
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
	fatal.If(t, os.WriteFile(path, []byte("listen: "+public+"\n"+at+g.routes), 0o600))
	g.Process = process.Start(t, filepath.Join(built, "whittle"), "run", "-c", path)
}

func (g *gateway) url() string { return "http://" + g.Admin + "/" }

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
			client := &http.Client{Transport: transport, Timeout: process.Patience}
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
