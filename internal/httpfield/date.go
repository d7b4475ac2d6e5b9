package httpfield

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Date has the value of Date, made once in a second. It is safe for concurrent use, and the
// zero value is ready.
type Date struct{ last atomic.Pointer[second] }

type second struct {
	unix int64
	text string
}

// At is the value at a time.
func (d *Date) At(now time.Time) string {
	s := d.last.Load()
	if unix := now.Unix(); s == nil || s.unix != unix {
		s = &second{unix, now.UTC().Format(http.TimeFormat)}
		d.last.Store(s)
	}
	return s.text
}
