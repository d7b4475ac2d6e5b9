package embedded

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"whittle"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

// TestALogThatMayNotBeWritten does not open, and says which file it is and what to do:
// a server on it would take no event.
func TestALogThatMayNotBeWritten(t *testing.T) {
	for name, forbid := range map[string]func(dir string) (path string){
		"an empty folder": func(dir string) string { return filepath.Join(dir, lockName) },
		"a log's folder": func(dir string) string {
			closing(t, opened(t, dir, Options{}))
			allow(t, filepath.Join(dir, lockName), 0o666)
			return dir
		},
		"the lock": func(dir string) string {
			closing(t, opened(t, dir, Options{}))
			allow(t, filepath.Join(dir, lockName), 0o444)
			return filepath.Join(dir, lockName)
		},
	} {
		dir := t.TempDir()
		allow(t, filepath.Dir(dir), 0o755)
		path := forbid(dir)
		mode := os.FileMode(0o777)
		if path == dir || name == "an empty folder" {
			mode = 0o555
		}
		allow(t, dir, mode)
		var err error
		asNobody(t, func() {
			var l *Log
			if l, err = Open(dir, Options{}); err == nil {
				closing(t, l)
			}
		})
		allow(t, dir, 0o700)
		whittletest.Refused(t, err, whittle.PermissionDenied, name, path)
	}
}

func allow(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	fatal.If(t, os.Chmod(path, mode))
}

// asNobody calls f as a user who may do nothing but what everybody may, where this one
// is root.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}
