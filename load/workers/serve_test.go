package workers

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestAForgottenPartDoesNotKeepAWorkerFromItsEnd: what goes on of a job that was let go
// comes to its end after the worker has stopped taking outcomes, and must not wait for it.
func TestAForgottenPartDoesNotKeepAWorkerFromItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{ready: make(chan outcome), over: make(chan outcome), quit: make(chan struct{})}
		stopped := make(chan struct{})
		w.work.Go(func() {
			<-stopped
			outcome{job: new(job)}.pass(w.over, w.quit)
		})
		ctx, end := context.WithCancel(t.Context())
		end()
		w.loop(ctx)
		close(stopped)
		w.work.Wait() // in the bubble, a wait without end fails the test
	})
}
