package foreign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/profile"
)

// What py-spy 0.4.3 wrote with --threads of a FastAPI service and of gunicorn's first
// process, on a busy machine, where it sees threads that were woken and have no core yet:
// by the threads' clocks the planted line is most of the one, and the other did nothing.
func TestThreadsThatWaitUseNothing(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "pyspy-threads.txt"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := Read(raw, "")
	if err != nil {
		t.Fatal(err)
	}
	if share := shareOf(before, "price"); share > 0.5 {
		t.Fatalf("the file shows nothing: %.2f", share)
	}
	p, err := Read(OnCPU(raw, map[int]time.Duration{18826: 150 * time.Millisecond, 18991: 230 * time.Millisecond}), "")
	if err != nil {
		t.Fatal(err)
	}
	if share, total := shareOf(p, "price"), time.Duration(p.Total()); share < 0.55 || total > 400*time.Millisecond {
		t.Errorf("the planted line has %.2f of %v", share, total)
	}
	master := []byte("thread (7): MainThread;<module> (/srv/env/bin/gunicorn:8);Arbiter.run (/srv/env/lib/python3.11/site-packages/gunicorn/arbiter.py:200);Arbiter.wait_for_signals (/srv/env/lib/python3.11/site-packages/gunicorn/arbiter.py:425) 60\n")
	if left := OnCPU(master, map[int]time.Duration{7: 4 * time.Millisecond}); len(left) > 0 {
		t.Errorf("of a process that did nothing there is %q", left)
	}
}

func shareOf(p *profile.Profile, function string) float64 {
	var of int64
	for i := range p.Samples {
		if s := &p.Samples[i]; p.Functions[s.Stack[0].Function].Name == function {
			of += s.Value
		}
	}
	return float64(of) / float64(p.Total())
}

// A thread that stood at lines which call C for longer than it ran has as many samples as
// it ran for, each line by its part.
func TestAThreadIsHeldToItsClock(t *testing.T) {
	raw := []byte("thread (7): a;f (/srv/a.py:1) 60\nthread (7): a;g (/srv/a.py:2) 30\nthread (8): b;f (/srv/a.py:1) 12\n")
	got := string(OnCPU(raw, map[int]time.Duration{7: 300 * time.Millisecond, 8: 110 * time.Millisecond}))
	if want := "f (/srv/a.py:1) 20\ng (/srv/a.py:2) 10\nf (/srv/a.py:1) 12\n"; got != want {
		t.Errorf("%q", got)
	}
	waiting := []byte("thread (9): a;f (/srv/a.py:1);wait (/usr/lib/python3.11/threading.py:320) 60\nthread (9): a;g (/srv/a.py:2) 3\n")
	if got := string(OnCPU(waiting, nil)); got != "g (/srv/a.py:2) 3\n" {
		t.Errorf("without a clock: %q", got)
	}
}

// The line that starts an event loop asks for nothing that runs within, and neither does a
// package's command.
func TestWhatStartsAServiceAsksForNothing(t *testing.T) {
	p, err := Read([]byte(strings.Join([]string{
		"<module> (/srv/app.py:8);run_app (/usr/lib/python3.11/site-packages/aiohttp/web.py:500);BaseEventLoop.run_forever (/usr/lib/python3.11/asyncio/base_events.py:600);RequestHandler.start (/usr/lib/python3.11/site-packages/aiohttp/web_protocol.py:500) 60",
		"<module> (/srv/app.py:8);run_app (/usr/lib/python3.11/site-packages/aiohttp/web.py:500);BaseEventLoop.run_forever (/usr/lib/python3.11/asyncio/base_events.py:600);cost (/srv/app.py:5) 40",
		"<module> (/srv/env/bin/gunicorn:8);run (/srv/env/lib/python3.11/site-packages/gunicorn/app/base.py:200) 50",
	}, "\n")), "")
	if err != nil {
		t.Fatal(err)
	}
	if sites := p.Sites(3); len(sites) != 1 || p.Functions[sites[0].Function].Name != "cost" {
		t.Errorf("sites %+v", sites)
	}
}
