// Package collect takes profiles of running processes: a Go service by its pprof URL or
// admin port, a Node process by its inspector's URL or its process id. Whatever it turns on
// in the process, it turns off again.
package collect

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/profile"
)

// Source is a process that can be profiled. It belongs to one goroutine.
type Source interface {
	// Take takes a profile of one kind over a time. When ctx ends, a Node process
	// returns what it has so far, a Go process nothing.
	Take(ctx context.Context, kind profile.Kind, d time.Duration) (*Collected, error)
	// Kinds lists what Take takes.
	Kinds() []profile.Kind
	// Address is the URL at which the process was found.
	Address() string
	// Close turns off what Open turned on.
	Close(ctx context.Context) error
}

// Collected is a profile, and the file that it was read from: one for go tool
// pprof, or a .cpuprofile for the browser's developer tools.
type Collected struct {
	*profile.Profile
	Raw []byte
	Ext string // of a file of Raw: ".pb.gz", ".cpuprofile"
}

// Open connects to a target:
//
//	http://127.0.0.1:6060        a Go service: its pprof, or the port that has /debug/pprof
//	http://127.0.0.1:9229        a Node process: the inspector, as --inspect opens it
//	ws://127.0.0.1:9229/UUID     the same
//	1234                         a Node process on this machine, by its id: its
//	                             inspector is opened by SIGUSR1 and closed at the end
func Open(ctx context.Context, target string) (Source, error) { return open(ctx, target, false) }

// OpenAmong is Open of one of several processes, which do not share a port.
func OpenAmong(ctx context.Context, target string) (Source, error) { return open(ctx, target, true) }

func open(ctx context.Context, target string, among bool) (Source, error) {
	if pid, err := strconv.Atoi(target); err == nil {
		return openPID(ctx, pid, among)
	}
	if IsFile(target) {
		return nil, whittle.Errorf(whittle.Invalid, "profile %s: it is a saved profile, and a running process is to be measured", target).
			WithHint("give a process's id, or http://HOST:PORT of a Go service's pprof")
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, whittle.Errorf(whittle.Invalid, "profile %s: not a URL, a process id or a file", target).
			WithHint("give http://HOST:PORT of a Go service's pprof or of Node's inspector, or a Node process's id")
	}
	switch u.Scheme {
	case "ws":
		return dialInspector(ctx, target, false)
	case "http", "https":
	default:
		return nil, whittle.Errorf(whittle.Invalid, "profile %s: the scheme is none of http, https and ws", target)
	}
	if ws, err := inspectorAt(ctx, u.Scheme+"://"+u.Host); err == nil {
		return dialInspector(ctx, ws, false)
	}
	return openPprof(ctx, u)
}

// IsFile says whether a target is a saved profile.
func IsFile(target string) bool {
	if _, err := strconv.Atoi(target); err == nil || strings.Contains(target, "://") {
		return false
	}
	s, err := os.Stat(target)
	return err == nil && s.Mode().IsRegular()
}

// client gives up on a target that does not respond; a profile's length is
// added to the request's own deadline.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// responseTimeout is how long a target may take to respond, beyond a profile's length.
const responseTimeout = 10 * time.Second
