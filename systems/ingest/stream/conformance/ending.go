package conformance

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"whittle"
	"whittle/systems/ingest/stream"
)

// capacity asks for room while records are appended.
func (s *suite) capacity(t *testing.T) {
	st := s.open(t)
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for {
				if r := st.Capacity(); r.Err != nil || r.Free <= 0 || r.Rate < 0 {
					t.Errorf("room: %+v", r)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	fill(t, st, 30)
	close(stop)
	asking.Wait()
}

func (s *suite) closed(t *testing.T) {
	st := s.open(t)
	keep(t, st, numbered("k", 0))
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := st.Close(ctx); err != nil {
		t.Fatal(err)
	}
	results := st.Append(ctx, []stream.Record{numbered("k", 1), numbered("k", 2)})
	if len(results) != 2 {
		t.Fatalf("%d results of 2 records", len(results))
	}
	for _, r := range results {
		if codeOf(r.Err) != whittle.Unavailable {
			t.Errorf("append after close: %v", r.Err)
		}
	}
	if st.Capacity().Err == nil {
		t.Error("there is room after close")
	}
}

// closeWhileAppending closes a stream under many appends: each is refused or
// kept, and what was acknowledged is there afterwards.
func (s *suite) closeWhileAppending(t *testing.T) {
	st := s.open(t)
	const writers = 8
	enough := make(chan struct{}, writers)
	var wg sync.WaitGroup
	kept := book{at: map[string]stream.Position{}}
	for w := range writers {
		wg.Go(func() {
			for n := 0; ; n += 3 {
				key := fmt.Sprint("c", w)
				refused := kept.append(t.Context(), t, st, numbered(key, n), numbered(key, n+1), numbered(key, n+2)) != nil
				if n == 6 || refused && n < 6 {
					enough <- struct{}{}
				}
				if refused {
					return
				}
			}
		})
	}
	for range writers {
		<-enough
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := st.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	wg.Wait()
	if s.reopen == nil {
		return
	}
	st = s.again(t, st)
	inOrderSoFar(t, readAll(t, st, kept.ids...), kept.at)
}

// inOrderSoFar is inOrder for what may hold, at each key's end, records whose
// append did not learn that they were kept.
func inOrderSoFar(t *testing.T, parts map[string][]stream.Entry, at map[string]stream.Position) {
	t.Helper()
	for _, entries := range parts {
		for _, e := range entries {
			if _, ok := at[e.ID]; !ok {
				at[e.ID] = e.Position
			}
		}
	}
	inOrder(t, parts, at)
}

func (s *suite) reopened(t *testing.T) {
	st := s.open(t)
	where := map[string]stream.Position{}
	var ids []string
	for round := range 3 {
		for range 5 {
			n := len(ids)
			r := numbered("r", n)
			ids = append(ids, r.ID)
			where[r.ID] = keep(t, st, r)[0]
		}
		st = s.again(t, st)
		inOrder(t, readAll(t, st, ids...), where)
		if round == 0 {
			st = s.again(t, st) // nothing happened in between
		}
	}
}
