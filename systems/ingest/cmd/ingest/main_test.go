package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
)

// asServer makes the test's own binary the real command, so that a test has a
// process of it without a build.
const asServer = "INGEST_TEST_IS_INGEST"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"ingest": main})
}

// timeout bounds what a test waits for.
const timeout = 30 * time.Second

// running is a server.
type running struct {
	*process.Served
	public, admin string // http://host:port
}

// start runs a server in dir until the test ends.
func start(t testing.TB, dir string, env []string, args ...string) *running {
	t.Helper()
	self, err := os.Executable()
	fatal.If(t, err)
	s := process.Serve(t, child.Options{Dir: dir, Env: append(env, asServer+"=1")}, append([]string{self}, args...)...)
	return &running{s, "http://" + s.Public, "http://" + s.Admin}
}

// receipt is what of a response the tests look at.
type receipt struct {
	code                                    int
	Status, Position, Durability, MessageID string
}

func post(client *http.Client, url, key, contentType, body string) (receipt, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return receipt{}, err
	}
	req.Header.Set("Content-Type", contentType)
	if key != "" {
		req.SetBasicAuth(key, "")
	}
	res, err := client.Do(req)
	if err != nil {
		return receipt{}, err
	}
	defer res.Body.Close()
	a := receipt{code: res.StatusCode}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return receipt{}, err
	}
	return a, json.Unmarshal(text, &a)
}

// TestScripts runs the verbs as a shell would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"PORT1", "PORT2", "PORT3", "PORT4"} {
				address, err := unused()
				if err != nil {
					return err
				}
				_, port, _ := net.SplitHostPort(address)
				e.Setenv(name, port)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": process.Exits, "flip": flip, "post": postCmd},
	})
}

// unused returns an address at which nobody listens, for a process that is yet to
// start. Systems give their own ports from 32,768 on, so that no socket of
// another test is there by then.
func unused() (string, error) {
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", errors.New("a hundred ports from 20,000 to 32,000 are taken")
}

// flip turns a bit of the last record in a log's folder, to and fro: flip DIR
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip DIR")
	}
	segments, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*.segment"))
	if err != nil || len(segments) == 0 {
		ts.Fatalf("no segment: %v", err)
	}
	name := segments[len(segments)-1]
	b, err := os.ReadFile(name)
	ts.Check(err)
	b[bytes.LastIndex(b, []byte("essageId"))-1] ^= 4
	ts.Check(os.WriteFile(name, b, 0o600))
}

// postCmd posts until there is a response, which must have a status:
// post STATUS PORT PATH BODY
func postCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: post STATUS PORT PATH BODY")
	}
	deadline := time.Now().Add(timeout)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	contentType := "text/plain"
	if strings.HasPrefix(args[3], "{") {
		contentType = "application/json"
	}
	for {
		a, err := post(http.DefaultClient, "http://127.0.0.1:"+args[1]+args[2], "", contentType, args[3])
		if err == nil {
			if fmt.Sprint(a.code) != args[0] {
				ts.Fatalf("acknowledged %+v, want %s", a, args[0])
			}
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no response: %v", err)
		}
		<-tick.C
	}
}
