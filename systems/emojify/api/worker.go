package api

import (
	"context"
	"errors"
	"fmt"
	"image"
	"runtime/debug"
	"sync"
	"time"

	"whittle"
	"whittle/internal/label"
)

// workers work on the jobs of an API.
type workers struct {
	working sync.WaitGroup
	giveUp  context.CancelFunc
}

func startWorkers(a *API, n int) *workers {
	ctx, cancel := context.WithCancel(context.Background())
	c := &workers{giveUp: cancel}
	for range n {
		c.working.Go(func() {
			for one := range a.jobs.queue {
				a.jobs.take(one)
				// A picture's cost is its request's, whoever does the work.
				label.Do(ctx, "POST /emojify/", func(ctx context.Context) { a.work(ctx, one) })
			}
		})
	}
	return c
}

// wait gives up what is not done when ctx ends.
func (c *workers) wait(ctx context.Context) {
	stop := context.AfterFunc(ctx, c.giveUp)
	defer stop()
	c.working.Wait()
	c.giveUp()
}

// work does one job and says what became of it.
func (a *API) work(ctx context.Context, one *job) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, a.o.JobTimeout)
	defer cancel()
	err := a.emojify(ctx, one)
	code := "ok"
	if err != nil {
		c, _ := public(err)
		code = c.String()
		a.log.Log(ctx, levelOf(c), "picture failed", "id", one.id, "code", code, "err", err)
	}
	if one.release != nil {
		one.release()
	}
	a.jobs.end(one, reasonOf(err))
	a.metrics.jobs.WithLabelValues(code).Inc()
	a.metrics.jobTime.Observe(time.Since(begun).Seconds())
}

// emojify goes all the way. A picture that makes a decoder panic is one bad
// picture, and no reason to end the service.
func (a *API) emojify(ctx context.Context, one *job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	picture := one.picture
	if picture == nil {
		if picture, err = a.o.Fetcher.Fetch(ctx, one.url); err != nil {
			return during(ctx, err, "the picture could not be fetched")
		}
	}
	var faces []image.Rectangle
	err = a.finder.do(ctx, func(ctx context.Context) (err error) {
		faces, err = a.o.Finder.Find(ctx, picture)
		return err
	})
	if err != nil {
		return during(ctx, err, "the faces could not be looked for")
	}
	done, err := a.o.Painter.Paint(ctx, picture, faces)
	if err != nil {
		return during(ctx, err, "the picture could not be painted")
	}
	if err := a.pictures.put(ctx, one.id, done); err != nil {
		return during(ctx, err, "the finished picture could not be kept")
	}
	return nil
}

// during gives an error that says nothing to clients the words of its step.
func during(ctx context.Context, err error, step string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &whittle.Error{Code: whittle.DeadlineExceeded, Message: step + " in time", Err: err}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return &whittle.Error{Code: whittle.Canceled, Message: step, Err: err}
	}
	coded, ok := errors.AsType[*whittle.Error](err)
	if !ok || coded.Message != "" || coded.Code == whittle.Internal {
		return err
	}
	return &whittle.Error{Code: coded.Code, Message: step, Hint: coded.Hint, Err: err}
}
