// Package jetstream runs one gateway's part in a fleet over NATS JetStream: a bucket of
// its key-value store is the fleet's log.
package jetstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/carve/fleet"
	"whittle/internal/natslink"
	"whittle/internal/notify"
)

// InProcess is a NATS server in this process.
type InProcess interface {
	InProcessConn() (net.Conn, error)
	// Password is what its client shows to it.
	Password() string
	// Trouble is what keeps it from being of use. Empty: nothing.
	Trouble() string
}

// Options say which fleet, and where. Servers or Server, and Name, are required.
type Options struct {
	// Servers are one or several, nats://host:port separated by commas.
	Servers string
	// Server is spoken to in their place. Nil: there is none.
	Server InProcess
	// Credentials is a .creds file. Empty: none.
	Credentials string
	// TLS encrypts the connection. Nil: as the URL says.
	TLS *tls.Config
	// Name is the fleet's.
	Name string
	// Replicas is how many servers keep a copy of the log. 0: three in a cluster,
	// otherwise one.
	Replicas int
	// Evidence bounds the stream of exchanges.
	Evidence Limits
	// Node is this gateway.
	Node fleet.Config
	// Changed is called after everything that may have changed what is in force, on
	// the member's goroutine. It must not block and must not call the Member. Nil: not
	// called.
	Changed func(n *fleet.Node, now fleet.Instant)
	// Save keeps Node.Kept for the next run, on a goroutine of its own: a disk that hangs
	// holds up no fall. Its errors are logged, and it is called again later. Nil: nothing
	// is kept.
	Save func([]byte) error
	// Log gets what an operator should know. Nil: discarded.
	Log *slog.Logger
}

const (
	// tick is how often time passes for the node.
	tick = 50 * time.Millisecond
	// maxBucket bounds the log, in bytes: a few kilobytes a gateway, one value a key.
	maxBucket = 256 << 20
	// buffered bounds the entries between the watch and the node; the watch waits.
	buffered = 256
)

// Member is a gateway in a fleet. Its methods may be called by several goroutines.
type Member struct {
	o     Options
	conn  *client.Conn
	begun time.Time
	calls chan func(*fleet.Node)
	shown chan shown
	done  chan *fleet.Write
	again notify.Signal // the connection is back
	// unsaved has the last state that is to be saved; Run alone puts it there.
	unsaved chan []byte

	mu       sync.Mutex    // guards the following
	ended    chan struct{} // closed while Run is not running
	trouble  error         // of the watch or of a write, the last time; nil: there was none
	away     error         // of the last attempt to connect
	lost     failure       // of an exchange
	refused  failure       // of what this gateway's user may not do
	kv       jetstream.KeyValue
	evidence opened
}

// shown is what a watch has shown. Of the members' own watch, number says which; what
// comes of an earlier one is dropped.
type shown struct {
	number uint64
	begins bool
	whole  bool
	entry  fleet.Entry
}

// Open connects. NATS may be away: the gateway is then cut off until it is there.
func Open(o Options) (*Member, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	m := &Member{
		o: o, begun: time.Now(), calls: make(chan func(*fleet.Node)), shown: make(chan shown, buffered),
		done: make(chan *fleet.Write, buffered), again: notify.New(), unsaved: make(chan []byte, 1), ended: make(chan struct{}),
	}
	opts := []client.Option{
		client.ReconnectErrHandler(func(_ *client.Conn, err error) { m.note(&m.away, err) }),
		client.ReconnectHandler(func(*client.Conn) {
			m.mu.Lock()
			m.refused = failure{} // as another user, or by another server's rules
			m.mu.Unlock()
			m.again.Notify()
		}),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) { m.complained(err) }),
		client.DisconnectErrHandler(func(_ *client.Conn, err error) {
			if err != nil { // nil: this end has closed it
				o.Log.Warn("NATS is away; the candidate gets no users here until it is back", "err", err)
			}
		}),
	}
	if o.Server != nil {
		opts = append(opts, client.InProcessServer(o.Server), client.UserInfo("whittle", o.Server.Password()))
	}
	var err error
	if m.conn, err = natslink.Connect(natslink.Settings{Servers: o.Servers, Credentials: o.Credentials, TLS: o.TLS}, "whittle "+o.Node.Member, opts...); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "connect to NATS: %w", err).WithField("fleet.nats").
			WithHint("write it as nats://host:4222, several separated by commas")
	}
	return m, nil
}

// now reads both clocks.
func (m *Member) now() fleet.Instant {
	t := time.Now()
	return fleet.Instant{Mono: time.Hour + t.Sub(m.begun), Wall: time.Duration(t.UnixNano())}
}

// Do runs f with the node, on the node's goroutine. False: the member has ended.
func (m *Member) Do(f func(n *fleet.Node, now fleet.Instant)) bool {
	over := make(chan struct{})
	m.mu.Lock()
	ended := m.ended
	m.mu.Unlock()
	select {
	case m.calls <- func(n *fleet.Node) {
		defer close(over)
		f(n, m.now())
	}:
		<-over
		return true
	case <-ended:
		return false
	}
}

// Close lets go of the connection.
func (m *Member) Close() { m.conn.Close() }

// Run takes part until ctx ends, and leaves then: another gateway leads at once. It may be
// called again.
func (m *Member) Run(ctx context.Context) {
	n, ended := m.begin()
	defer func() {
		m.o.Node.Kept = n.Kept()
		if m.o.Save != nil { // its last counts, which nobody may have read
			m.saved(m.o.Node.Kept)
		}
	}()
	var work sync.WaitGroup
	defer work.Wait()
	defer close(ended)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	work.Go(func() { m.watch(ctx) })
	work.Go(func() { m.save(ctx) })
	number := uint64(0)
	reports := watcher{run: m.reports, work: &work}
	defer reports.set(ctx, false)
	m.carryOut(ctx, n, &work)
	for {
		select {
		case <-ctx.Done():
			m.leave(n)
			return
		case <-ticker.C:
			n.Tick(m.now())
		case s := <-m.shown:
			number = max(number, s.number)
			m.take(n, s, number)
		case w := <-m.done:
			n.Wrote(w)
			n.Tick(m.now())
		case f := <-m.calls:
			f(n)
		}
		_, leads := n.Leads(m.now())
		reports.set(ctx, leads)
		m.carryOut(ctx, n, &work)
	}
}

// begin makes the node. What comes of an earlier one's watches and writes goes nowhere.
func (m *Member) begin() (n *fleet.Node, ended chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.ended:
		m.ended = make(chan struct{})
	default: // it is the first one
	}
	m.shown, m.done = make(chan shown, buffered), make(chan *fleet.Write, buffered)
	return fleet.New(m.o.Node, m.now()), m.ended
}

// watcher runs while it is on.
type watcher struct {
	run  func(context.Context)
	work *sync.WaitGroup
	stop context.CancelFunc // nil: it is off
}

func (w *watcher) set(ctx context.Context, on bool) {
	switch {
	case on && w.stop == nil:
		ctx, w.stop = context.WithCancel(ctx)
		w.work.Go(func() { w.run(ctx) })
	case !on && w.stop != nil:
		w.stop()
		w.stop = nil
	}
}

// take passes on what a watch has shown.
func (m *Member) take(n *fleet.Node, s shown, number uint64) {
	switch {
	case s.number != 0 && s.number < number:
	case s.begins:
		n.Restarted()
	case s.whole:
		n.Synced(m.now())
	default:
		n.Saw(s.entry, m.now())
	}
}

// carryOut puts in force what has come, keeps it, and writes what is to be written.
func (m *Member) carryOut(ctx context.Context, n *fleet.Node, work *sync.WaitGroup) {
	if m.o.Changed != nil {
		m.o.Changed(n, m.now())
	}
	if m.o.Save != nil && n.Unsaved() {
		select {
		case <-m.unsaved: // an earlier one, which nobody has begun to save
		default:
		}
		m.unsaved <- n.Kept()
	}
	for _, w := range n.Writes() { // at most one a key
		work.Go(func() {
			m.write(ctx, w)
			select {
			case m.done <- w:
			case <-ctx.Done():
			}
		})
	}
}

// saveAgain is the wait before another save after one that failed.
const saveAgain = time.Second

// save keeps what this gateway knows, the last of it at the end, too.
func (m *Member) save(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case b := <-m.unsaved:
			for !m.saved(b) && ctx.Err() == nil {
				notify.Sleep(ctx, saveAgain)
				select {
				case b = <-m.unsaved:
				default:
				}
			}
		}
	}
	select {
	case b := <-m.unsaved:
		m.saved(b)
	default:
	}
}

func (m *Member) saved(b []byte) bool {
	err := m.o.Save(b)
	if err != nil {
		m.o.Log.Error("what this gateway knows of the fleet cannot be saved", "err", err)
	}
	return err == nil
}

// leave reports a last time, and gives the lease back if this gateway has it.
func (m *Member) leave(n *fleet.Node) {
	n.Final(m.now())
	n.Leave(m.now())
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	for _, w := range n.Writes() {
		work.Go(func() {
			for !m.write(ctx, w) && ctx.Err() == nil && m.conn.IsConnected() { // nothing shows what has become of it
			}
		})
	}
}

// leaveTime bounds the last writes.
const leaveTime = 3 * time.Second

// write writes a key. False: it was not written as far as is known, which the watch shows.
func (m *Member) write(ctx context.Context, w *fleet.Write) bool {
	ctx, cancel := context.WithTimeout(ctx, m.o.Node.Lease/4)
	defer cancel()
	kv, err := m.bucket(ctx)
	if err != nil {
		notify.Sleep(ctx, tick)
		return false
	}
	switch {
	case w.Gone:
		err = m.remove(ctx, w)
	case w.Expect == nil:
		_, err = kv.Put(ctx, w.Key, w.Value)
	case *w.Expect == 0:
		_, err = kv.Create(ctx, w.Key, w.Value)
	default:
		_, err = kv.Update(ctx, w.Key, w.Value, *w.Expect)
	}
	if errors.Is(err, jetstream.ErrKeyExists) {
		return true // another write came first
	}
	if err != nil {
		m.note(&m.trouble, err)
		notify.Sleep(ctx, tick)
	}
	return err == nil
}

// remove removes a key and leaves no mark in its place, as deleting it would.
func (m *Member) remove(ctx context.Context, w *fleet.Write) error {
	js, err := jetstream.New(m.conn)
	if err != nil {
		return err
	}
	bucket := "whittle_" + m.o.Name
	s, err := js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject("$KV."+bucket+"."+w.Key), jetstream.WithPurgeSequence(*w.Expect+1))
}

// bucket is the fleet's.
func (m *Member) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	return lookedUp(m, &m.kv, func() (jetstream.KeyValue, error) { return m.lookUp(ctx) })
}

// lookedUp is what is in one of m's fields or, where that is empty, what is found and put there.
func lookedUp[T comparable](m *Member, field *T, find func() (T, error)) (T, error) {
	var none T
	m.mu.Lock()
	found := *field
	m.mu.Unlock()
	if found != none {
		return found, nil
	}
	found, err := find()
	if err != nil {
		return none, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	*field = found
	return found, nil
}

// forget drops the bucket and the stream, which are then looked up again: they may be gone
// with the servers' disks.
func (m *Member) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kv, m.evidence = nil, opened{}
}

// lookUp looks the bucket up, or makes it.
func (m *Member) lookUp(ctx context.Context) (jetstream.KeyValue, error) {
	js, err := jetstream.New(m.conn)
	if err != nil {
		return nil, err
	}
	name := "whittle_" + m.o.Name
	kv, err := js.KeyValue(ctx, name)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return kv, err
	}
	return js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: name, Description: "a fleet of whittle gateways", History: 1, Storage: jetstream.FileStorage,
		Replicas: m.replicas(), MaxBytes: maxBucket,
	})
}

// Room is what a server's store of a fleet may take, in bytes, where the stream of
// exchanges has so many.
func Room(evidence int64) int64 { return maxBucket + cmp.Or(evidence, defaultBytes)*9/8 + maxBucket/8 }

func (m *Member) replicas() int {
	switch {
	case m.o.Replicas > 0:
		return m.o.Replicas
	case m.conn.ConnectedClusterName() != "":
		return 3
	}
	return 1
}

// watch shows the node what a member has to see, from the beginning after each break:
// what has been lost meanwhile is not shown again.
func (m *Member) watch(ctx context.Context) {
	for number := uint64(1); ctx.Err() == nil; number++ {
		err := m.watchOnce(ctx, number, fleet.Watched(m.o.Node.Member)...)
		if err != nil && ctx.Err() == nil {
			m.forget()
			m.note(&m.trouble, err)
			m.o.Log.Debug("the fleet's log is watched again", "err", err)
		}
		notify.Sleep(ctx, tick)
	}
}

// reports shows the node the other members' reports, while it leads.
func (m *Member) reports(ctx context.Context) {
	for ctx.Err() == nil {
		if err := m.watchOnce(ctx, 0, fleet.Reports); err != nil && ctx.Err() == nil {
			m.o.Log.Debug("the reports are watched again", "err", err)
		}
		notify.Sleep(ctx, tick)
	}
}

// watchOnce shows the node what the store has under some keys, until the watch breaks. number
// is that of the member's own watch; 0: it is the one of all reports, in which this gateway's
// own are not shown, since they come in order with all else by the other.
//
// A gateway's own reports come often. A watch without them is none: those of others do not
// come either, and they would be taken for cut off.
func (m *Member) watchOnce(ctx context.Context, number uint64, keys ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates, err := m.open(ctx, keys...)
	if err != nil {
		return err
	}
	var again notify.Signal // nil: for the other watch
	if number > 0 {
		again = m.again
		if !m.show(ctx, shown{number: number, begins: true}) {
			return nil
		}
	}
	watched := fleet.Watched(m.o.Node.Member)
	own := watched[len(watched)-1]
	silence := time.NewTimer(m.o.Node.Lease)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			return errors.New("the connection was lost")
		case <-silence.C:
			return errors.New("the watch shows nothing")
		case e, open := <-updates.Updates():
			if !open {
				return errors.New("the watch has ended")
			}
			mine := e != nil && e.Key() == own
			if number > 0 || mine {
				silence.Reset(m.o.Node.Lease)
			}
			if (number > 0 || e != nil && !mine) && !m.show(ctx, shownOf(e, number)) {
				return nil
			}
		}
	}
}

func (m *Member) open(ctx context.Context, keys ...string) (jetstream.KeyWatcher, error) {
	short, cancel := context.WithTimeout(ctx, m.o.Node.Lease/2)
	defer cancel()
	kv, err := m.bucket(short)
	if err != nil {
		return nil, err
	}
	return kv.WatchFiltered(ctx, keys)
}

func shownOf(e jetstream.KeyValueEntry, number uint64) shown {
	if e == nil {
		return shown{number: number, whole: true}
	}
	return shown{number: number, entry: fleet.Entry{Key: e.Key(), Value: e.Value(), Revision: e.Revision()}}
}

func (m *Member) show(ctx context.Context, s shown) bool {
	select {
	case m.shown <- s:
		return true
	case <-ctx.Done():
		return false
	}
}
