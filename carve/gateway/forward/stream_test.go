package forward

import (
	"net/http"
	"testing"
)

// TestIsStream: a media type is one in any case, and whatever its parameters are.
func TestIsStream(t *testing.T) {
	for contentType, want := range map[string]bool{
		"text/event-stream": true, "Text/Event-Stream": true, "text/event-stream;charset=utf-8": true, "text/event-stream ; a=b": true,
		"multipart/x-mixed-replace;boundary=x": true,
		"":                                     false, "text/event": false, "text/event-streams": false, "text/plain; a=text/event-stream": false,
	} {
		if got := IsStream(http.Header{"Content-Type": {contentType}}); got != want {
			t.Errorf("%q: %v", contentType, got)
		}
	}
}
