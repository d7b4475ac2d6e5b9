package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/journal"
)

// TestOneLogInEachForm replays a journal's folder, one of its segments, and an
// archive.
func TestOneLogInEachForm(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recorded")
	w, err := journal.Create(dir, journal.Options{MaxAge: -1})
	fatal.If(t, err)
	for e, err := range numbers(400).Entries(t.Context()) {
		fatal.If(t, err)
		fatal.If(t, w.Append(e))
	}
	fatal.If(t, w.Close())
	segments, err := filepath.Glob(filepath.Join(dir, "*"))
	fatal.If(t, err)
	archive := filepath.Join(t.TempDir(), "session.HAR")
	const entry = `{"startedDateTime":"2026-03-01T12:00:0%d.000Z","time":4,"request":{"method":"GET","url":"http://shop.example/n?i=%d","httpVersion":"HTTP/1.1","headers":[]},` +
		`"response":{"status":200,"headers":[{"name":"Content-Type","value":"application/json"}],"content":{"mimeType":"application/json","text":"{\"n\":%d}"}}}`
	text := fmt.Sprintf(`{"log":{"version":"1.2","entries":[`+entry+`,`+entry+`,{"request":{}}]}}`, 1, 3, 3, 2, 4, 4)
	fatal.If(t, os.WriteFile(archive, []byte(text), 0o600))
	url := serve(t, numberOf)
	for path, want := range map[string]int64{dir: 400, segmentOf(segments): 400, archive: 2} {
		log, err := OpenLog(path)
		fatal.If(t, err)
		r := run(t, log, Options{Against: url})
		if r.Ledger.Compared != want || r.Differing != 0 || r.Routes[0].Route != "GET /n" {
			t.Errorf("%s: %+v, %d differ", path, r.Ledger, r.Differing)
		}
		if path == archive && (len(log.Damage()) != 1 || !strings.Contains(strings.Join(r.Notes, "\n"), "left out entry 3")) {
			t.Errorf("what could not be read of an archive is not said: %v", r.Notes)
		}
	}
	if _, err := OpenLog(filepath.Join(dir, "none")); whittle.CodeOf(err) != whittle.NotFound {
		t.Errorf("no log: %v", err)
	}
}

func segmentOf(files []string) string {
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.Size() > 1000 {
			return f
		}
	}
	return "none"
}

// An archive is not taken for an empty one where the replay was ended before it was read.
func TestAnEndedReplayOfAnArchiveIsCanceled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.har")
	archive := `{"log":{"entries":[{"startedDateTime":"2026-01-02T03:04:05Z","request":{"method":"GET","url":"http://a/"},"response":{"status":200,"content":{"text":"{}"}}}]}}`
	fatal.If(t, os.WriteFile(path, []byte(archive), 0o600))
	log, err := OpenLog(path)
	fatal.If(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, log, Options{Against: "http://127.0.0.1:1"}); whittle.CodeOf(err) != whittle.Canceled {
		t.Errorf("%v", err)
	}
}
