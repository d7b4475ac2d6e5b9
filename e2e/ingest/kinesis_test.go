package ingest

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/needs"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
)

// startKinesis starts an API with a stream, or says loudly that nothing was tested.
func startKinesis(t testing.TB, name string, shards int) *kinesistest.API {
	t.Helper()
	api, err := kinesistest.Start(t.Context(), kinesistest.Options{})
	if whittle.CodeOf(err) == whittle.Unsupported {
		needs.Missing(t, "a Kinesis API", kinesistest.Install)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	if err := api.CreateStream(t.Context(), name, shards); err != nil {
		t.Fatal(err)
	}
	return api
}

// kinesisAPI starts an API with a stream, behind a proxy that can make it fail,
// and returns the binary's environment for it.
func kinesisAPI(t *testing.T, name string) *kinesistest.Proxy {
	t.Helper()
	api := startKinesis(t, name, 2)
	proxy, err := kinesistest.NewProxy(t.Context(), api.URL, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	for name, value := range map[string]string{
		"AWS_REGION": kinesistest.Region, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_ENDPOINT_URL": proxy.URL,
	} {
		t.Setenv(name, value)
	}
	return proxy
}

// filled makes an embedded log with events of many users.
func filled(t *testing.T, events int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	log, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < events; from += 500 {
		batch := make([]stream.Record, min(500, events-from))
		for i := range batch {
			id := fmt.Sprintf("m%d", from+i)
			batch[i] = stream.Record{ID: id, Key: fmt.Sprint("user", (from+i)%97), Time: time.Now(), Value: []byte(body(id))}
			batch[i].Seal()
		}
		for _, r := range log.Append(t.Context(), batch) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files returns the bytes of every segment of a log.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() || e.Name() == "lock" {
			continue
		}
		if all[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// moved holds what a move printed against how many events there were.
func moved(t *testing.T, out string, events int) {
	t.Helper()
	proofs := regexp.MustCompile(`(?m)^(?:source|target): (\d+ records, \d+ bytes, content \S+, order \S+ over \d+ keys)$`).FindAllStringSubmatch(out, -1)
	if len(proofs) != 2 || proofs[0][1] != proofs[1][1] || !strings.HasPrefix(proofs[0][1], fmt.Sprint(events, " records")) {
		t.Errorf("the sides do not prove the same\n%s", out)
	}
	if !strings.Contains(out, "missing 0, altered 0, corrupt at the source 0, refused 0,") {
		t.Errorf("the move does not say that all arrived\n%s", out)
	}
}

// TestMoveToKinesis sends a move a -9 in its middle: some users' events are
// throttled for as long as it lives, so that it cannot come to its end, and
// others have arrived. Run again it goes on, both sides count and hash the
// same, and the source is what it was.
func TestMoveToKinesis(t *testing.T) {
	const events = 300
	proxy := kinesisAPI(t, "moved")
	data := filled(t, events)
	before := files(t, data)
	stuck := regexp.MustCompile(`^user[1-4]`)
	proxy.Set(kinesistest.Faults{Refuse: stuck.MatchString})
	argv := []string{"move", "--env-file", "", "--data", data, "--state", filepath.Join(t.TempDir(), "state"), "--to-sink", "kinesis", "--to-kinesis-stream", "moved"}
	first := exec.CommandContext(t.Context(), binary, argv...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, "some events were refused and others taken", func() bool {
		c := proxy.Counts()
		return c["records"] > 0 && c["calls"] > 5
	})
	_ = first.Process.Kill()
	_ = first.Wait()
	proxy.Set(kinesistest.Faults{})
	there, err := run(t, "tail", "--env-file", "", "--sink", "kinesis", "--kinesis-stream", "moved", "-n", fmt.Sprint(events), "--values")
	if err != nil {
		t.Fatal(err)
	}
	arrived := strings.Count(there, "\n")
	if arrived == 0 || arrived >= events {
		t.Errorf("the kill came when %d of %d events had arrived, which is no middle", arrived, events)
	}

	out, err := run(t, argv...)
	if err != nil {
		t.Fatal(err)
	}
	moved(t, out, events)
	for name, was := range before {
		if now := files(t, data)[name]; !bytes.Equal(now, was) {
			t.Errorf("the source's %s has changed: %d bytes, then %d", name, len(was), len(now))
		}
	}
	t.Logf("AUDIT move to Kinesis, run again after a -9 with %d of %d there:\n%s", arrived, events, out)
}

// TestStraightToKinesis is acknowledged when Kinesis has the event, and says so.
func TestStraightToKinesis(t *testing.T) {
	proxy := kinesisAPI(t, "events")
	s := serve(t, t.TempDir(), "--sink", "kinesis", "--kinesis-stream", "events", "--append-timeout", "3s")
	a, err := post(t.Context(), http.DefaultClient, s.public, "one", body("one"))
	if err != nil || a.code != http.StatusOK || a.Durability != "kinesis" {
		t.Errorf("%+v, %v", a, err)
	}
	proxy.Set(kinesistest.Faults{Throttle: 1})
	a, err = post(t.Context(), http.DefaultClient, s.public, "two", body("two"))
	if err != nil || a.code < 429 || a.retryAfter == "" {
		t.Errorf("an event that Kinesis does not take gets the response %+v, %v", a, err)
	}
	proxy.Set(kinesistest.Faults{})
	out, err := run(t, "tail", "--env-file", "", "--sink", "kinesis", "--kinesis-stream", "events", "-n", "10", "--values")
	if err != nil || strings.Count(out, body("one")) != 1 {
		t.Errorf("Kinesis holds %q (%v)", out, err)
	}
}
