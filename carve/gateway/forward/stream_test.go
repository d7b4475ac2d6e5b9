package forward

import (
	"net/http"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// TestIsStream: a media type is one in any case, and whatever its parameters are.
func TestIsStream(t *testing.T) {
	for contentType, want := range map[string]bool{
		"text/event-stream": true, "Text/Event-Stream": true, "text/event-stream;charset=utf-8": true, "text/event-stream ; a=b": true,
		"multipart/x-mixed-replace;boundary=x": true,
		"":                                     false, "text/event": false, "text/event-streams": false, "text/plain; a=text/event-stream": false,
	} {
		fatal.Same(t, IsStream(http.Header{"Content-Type": {contentType}}), want, "%q", contentType)
	}
}

// TestIdleStreamsAreNotLookedAt: a response that waits for its upstream is left out by the
// next look, and the looking ends where nothing is waited for.
func TestIdleStreamsAreNotLookedAt(t *testing.T) {
	p := &Forwarder{}
	s := &spill{f: &forwarding{p: p}, looked: true}
	p.lookout.spills = map[*spill]struct{}{s: {}}
	s.look(time.Now())
	if n := len(p.lookout.present(nil)); n != 0 || s.looked || p.lookout.goesOn() {
		t.Errorf("%d are looked at", n)
	}
	s.waiting, s.began, s.looked = true, time.Now(), true
	p.lookout.spills[s] = struct{}{}
	if s.look(s.began.Add(readily / 2)); !s.looked || !p.lookout.goesOn() {
		t.Error("who waits for a client is not looked at")
	}
}
