// Package ingest tests the ingestion service end to end as its clients see it:
// real processes that are killed, logs that are torn, sinks that die.
package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/kafka/kafkatest"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
)

// binary is the service, demo the program that plays its story.
var binary, demo string

func TestMain(m *testing.M) {
	process.Main(m, func() error {
		built, err := process.Build("./systems/ingest/cmd/ingest", "./cmd/demo")
		binary, demo = filepath.Join(built, "ingest"), filepath.Join(built, "demo")
		return err
	}, kafkatest.Close)
}

// rounds is how often a scene is played: a few in the suite, more in
// make audit-ingest.
func rounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("AUDIT_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return few
}

// service is a running ingest; public is its URL.
type service struct {
	*process.Process
	public string
}

// serve starts the service on a log's folder.
func serve(t *testing.T, data string, flags ...string) *service {
	t.Helper()
	p := process.Start(t, append([]string{binary, "serve", "--env-file", "", "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--data", data}, flags...)...)
	return &service{p, "http://" + p.Public}
}

// figure reads a metric without labels; -1 where it is not there.
func (s *service) figure(name string) float64 {
	if v, ok := process.Metrics(s.Admin)[name]; ok {
		return v
	}
	return -1
}

// response is what the service says of one event.
type response struct {
	Status, Durability, Position, DeadLetter string
	code                                     int
}

// post sends one event under an id.
func post(ctx context.Context, c *http.Client, base, id, body string) (response, error) {
	return send(ctx, c, base+"/import", body, "Content-Type", "text/plain", "Idempotency-Key", id)
}

func send(ctx context.Context, c *http.Client, url, body string, header ...string) (response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return response{}, err
	}
	a := response{code: resp.StatusCode}
	if err := json.Unmarshal(b, &a); err != nil {
		return response{}, fmt.Errorf("status %d: %w: %q", resp.StatusCode, err, b)
	}
	return a, nil
}

// entries reads a log at rest.
func entries(t *testing.T, data string) (all []stream.Entry) {
	t.Helper()
	log, err := embedded.Open(data, embedded.Options{})
	fatal.If(t, err)
	defer log.Close(t.Context())
	err = log.Walk(t.Context(), 0, func(e *stream.Entry) error {
		e.Value = append([]byte(nil), e.Value...)
		all = append(all, *e)
		return nil
	}, func(e *stream.CorruptError) error { return e })
	fatal.If(t, err)
	return all
}

// TestDemoIngest runs the whole demo in its short form: four streams, each
// read back, hold every acknowledged event once, and the demo fails where one
// does not, where a comparison is void, and where ingest costs more CPU.
func TestDemoIngest(t *testing.T) {
	needs.Node(t)
	if _, err := os.Stat("../../systems/ingest/stream/kinesis/kinesistest/node_modules"); err != nil {
		needs.Missing(t, "a Kinesis API", kinesistest.Install)
	}
	if _, err := os.Stat("../../systems/ingest/node/node_modules"); err != nil {
		needs.Missing(t, "the Node.js ingestion server", "make deps")
	}
	dir := t.TempDir()
	said := process.MustRun(t, "", 0, demo, "ingest", "--short", "--out", dir)
	b := []byte(fatal.Read(t, filepath.Join(dir, "demo-ingest.json")))
	var figures struct {
		Audits []struct {
			Stream                                      string
			Acknowledged, Read, Missing, Twice, Changed int
		}
	}
	fatal.If(t, json.Unmarshal(b, &figures))
	if len(figures.Audits) != 4 {
		t.Fatalf("%d streams were read back: %s", len(figures.Audits), b)
	}
	for _, name := range []string{"Node.js, PutRecord ", "Node.js, PutRecords ", "Go, PutRecords ", "Go, fsync "} {
		if n := strings.Count(said, "  "+name); n < 2 { // a row at each number of users
			t.Errorf("%d rows of %s:\n%s", n, name, said)
		}
	}
	for _, a := range figures.Audits {
		if a.Acknowledged < 200 || a.Read < a.Acknowledged || a.Missing+a.Twice+a.Changed > 0 {
			t.Errorf("%+v", a)
		}
	}
}
