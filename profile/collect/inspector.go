package collect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"whittle"
	"whittle/internal/notify"
	"whittle/profile"
)

// maxMessage bounds one message of the inspector: a profile is one message.
const maxMessage = 64 << 20

// inspector is a Node process by the Chrome DevTools protocol.
type inspector struct {
	conn   *websocket.Conn
	socket *net.TCPConn // of conn
	linger *linger
	url    string
	name   string
	last   int
	pid    int // 0: not known
	// lease is on what whittle opened. nil: it was open, and stays so.
	lease *lease
	lines profile.Lines   // see SetLines. "": a look decides
	look  json.RawMessage // the last console.profile that has ended
	// marking is the name of the marks that the process keeps. "": it keeps none.
	marking string
	workers map[string]*worker // by session. nil: they are not listened to
}

// inspectorAt asks for the WebSocket URL of the inspector that listens at base.
func inspectorAt(ctx context.Context, base string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	b, err := get(ctx, base+"/json/list", 1<<20)
	if err != nil {
		return "", err
	}
	var targets []struct {
		Type string `json:"type"`
		URL  string `json:"webSocketDebuggerUrl"`
	}
	if err := json.Unmarshal(b, &targets); err != nil {
		return "", err
	}
	for _, t := range targets {
		if t.Type == "node" && t.URL != "" {
			return sameHost(t.URL, base)
		}
	}
	return "", errors.New("no Node process there (or another debugger is connected)")
}

// sameHost keeps to the host that was asked: what a response names is not trusted.
func sameHost(ws, base string) (string, error) {
	u, err := url.Parse(ws)
	b, wrong := url.Parse(base)
	if err = cmp.Or(err, wrong); err != nil {
		return "", err
	}
	u.Scheme, u.Host = "ws", b.Host
	return u.String(), nil
}

// dialInspector begins a session. opened says that the inspector was opened for
// it: then it closes with the session, also where whittle is killed.
func dialInspector(ctx context.Context, ws string, opened bool) (*inspector, error) {
	dial, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	i := &inspector{url: ws, name: "node"}
	conn, resp, err := websocket.Dial(dial, ws, &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: i.connect}}})
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "connect to inspector %s: %w", ws, err)
	}
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
	conn.SetReadLimit(maxMessage)
	i.conn = conn
	if err = i.hold(dial, opened); err == nil {
		err = i.evaluate(dial, "String(process.argv[1] || process.title)", &i.name)
	}
	if err != nil {
		if opened && i.lease == nil {
			_ = i.evaluate(dial, "process._debugEnd()", nil) // the response is that the connection ends
		}
		return nil, errors.Join(whittle.Errorf(whittle.Unavailable, "talk to inspector %s: %w", ws, err), i.Close(ctx))
	}
	return i, nil
}

// connect makes the one connection to the inspector.
func (i *inspector) connect(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		i.socket = c.(*net.TCPConn)
	}
	return c, err
}

func (i *inspector) Address() string { return i.url }

func (i *inspector) Kinds() []profile.Kind { return []profile.Kind{profile.CPU} }

// ends reports whether a process has ended, or does within two seconds: its connections
// end before it does.
func ends(ctx context.Context, pid int) bool {
	for range 40 {
		if ended(pid) {
			return true
		}
		if !notify.Sleep(ctx, 50*time.Millisecond) {
			return false
		}
	}
	return false
}

// Take starts V8's profiler, waits, and stops it, also when ctx ends.
func (i *inspector) Take(ctx context.Context, kind profile.Kind, d time.Duration) (*Collected, error) {
	if !slices.Contains(i.Kinds(), kind) {
		return nil, whittle.Errorf(whittle.Unsupported, "take profile: Node has no %q", kind)
	}
	t, err := i.takeCPU(ctx, d)
	if errors.Is(err, errStopped) {
		return nil, whittle.Errorf(whittle.Unavailable, "take %s profile of %s: process %d was stopped meanwhile, by a signal or a debugger", kind, i.name, i.pid).
			WithHint(fmt.Sprintf("let it go on: kill -CONT %d; whatever whittle opened in it closes then", i.pid))
	}
	if err != nil && i.pid != 0 && ends(ctx, i.pid) {
		return nil, whittle.Errorf(whittle.Unavailable, "take %s profile of %s: process %d ended meanwhile", kind, i.name, i.pid).
			WithHint("start it again, and give its new id")
	}
	if _, coded := errors.AsType[*whittle.Error](err); err != nil && !coded {
		err = whittle.Errorf(whittle.Unavailable, "take %s profile of %s: %w", kind, i.name, err)
	}
	if err != nil {
		return nil, err
	}
	t.Service = i.name
	readLines(ctx, i, t.Profile)
	return t, nil
}

// stop ends a profile and gives it. It must come to its end though ctx ended, or the
// profiler would stay on.
func (i *inspector) stop(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer cancel()
	var r struct {
		Profile json.RawMessage `json:"profile"`
	}
	if err := i.call(ctx, "Profiler.stop", nil, &r); err != nil {
		return nil, err
	}
	return r.Profile, i.call(ctx, "Profiler.disable", nil, nil)
}

// Close ends the session, and the inspector where it was opened for it.
func (i *inspector) Close(ctx context.Context) error {
	if i.lease == nil {
		i.hangUp()
		return nil
	}
	if i.pid != 0 && isStopped(i.pid) {
		i.conn.CloseNow()
		i.linger.end()
		i.lease.line.Close()
		return whittle.Errorf(whittle.Unavailable, "close inspector of %s: it is stopped, and closes it when it goes on", i.name)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer cancel()
	held := 0
	if i.evaluate(ctx, "globalThis[Symbol.for('whittle.leases')]?.size ?? 0", &held) != nil {
		held = 1 // the process has ended, or says nothing: it is asked by its port
	}
	i.hangUp()
	i.lease.line.Close() // which ends the lease
	if held > 1 || i.refuses(ctx) {
		return nil
	}
	return whittle.Errorf(whittle.Unavailable, "close inspector of %s: it is still open", i.name)
}

// hangUp ends the connection by a closing handshake, as its session then ends in order.
func (i *inspector) hangUp() {
	_ = i.conn.Close(websocket.StatusNormalClosure, "") // a peer that has gone needs none
	i.conn.CloseNow()
	i.linger.end()
	i.linger = nil
}

// refuses waits until nobody listens at the inspector's address. False: ctx ended first.
func (i *inspector) refuses(ctx context.Context) bool {
	u, err := url.Parse(i.url)
	if err != nil {
		return false
	}
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
		if err != nil {
			return ctx.Err() == nil
		}
		c.Close()
		if !notify.Sleep(ctx, 20*time.Millisecond) {
			return false
		}
	}
}

// evaluate gives the value of an expression in the process.
func (i *inspector) evaluate(ctx context.Context, expression string, into any) error {
	var e evaluation
	if err := i.call(ctx, "Runtime.evaluate", evaluated(expression), &e); err != nil {
		return err
	}
	return e.value(into)
}

// evaluateStill is evaluate where ctx may have ended: it has a time of its own.
func (i *inspector) evaluateStill(ctx context.Context, expression string, into any) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer cancel()
	return i.evaluate(ctx, expression, into)
}

// evaluated are the parameters by which Runtime.evaluate gives the value of an expression.
func evaluated(expression string) map[string]any {
	return map[string]any{
		"expression": injected(expression), "silent": true, "returnByValue": true, "includeCommandLineAPI": true, // which is where require comes from
	}
}

// evaluation is what Runtime.evaluate responds with.
type evaluation struct {
	Result struct {
		Value json.RawMessage `json:"value"`
	} `json:"result"`
	Exception *struct {
		Text      string `json:"text"`
		Exception struct {
			Description string `json:"description"`
		} `json:"exception"`
	} `json:"exceptionDetails"`
}

func (e *evaluation) value(into any) error {
	switch {
	case e.Exception != nil:
		return fmt.Errorf("%s %s", e.Exception.Text, firstLine([]byte(e.Exception.Exception.Description)))
	case into == nil:
		return nil
	}
	return json.Unmarshal(e.Result.Value, into)
}

// injected gives a script of ours the URL by which it is known in profiles.
func injected(script string) string {
	return script + "\n//# sourceURL=" + profile.InjectedURL + "script"
}

// errStopped says that nothing can be asked of a process.
var errStopped = errors.New("it is stopped, by a signal or a debugger")

// lastResponse is how long a command's response is waited for after its context has
// ended.
const lastResponse = 30 * time.Second

// call sends one command and reads until its response.
func (i *inspector) call(ctx context.Context, method string, params, into any) error {
	responses, err := i.calls(ctx, method, params)
	if err != nil {
		return err
	}
	return responses[0].read(method, into)
}

// calls sends a command with each of some parameters, all at once, and reads until all have
// their response, unless ctx has ended before. What was sent is waited for, also when ctx
// ends meanwhile: Node 20 ends with a segmentation fault where it responds on a connection
// that was closed.
func (i *inspector) calls(ctx context.Context, method string, params ...any) ([]*response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i.pid != 0 && isStopped(i.pid) { // it would be waited for, and nothing comes
		return nil, errStopped
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastResponse)
	defer cancel()
	first := i.last + 1
	for _, one := range params {
		i.last++
		b, err := json.Marshal(map[string]any{"id": i.last, "method": method, "params": one})
		if err != nil {
			return nil, err
		}
		if err := i.conn.Write(ctx, websocket.MessageText, b); err != nil {
			return nil, err
		}
	}
	out := make([]*response, len(params))
	for left := len(params); left > 0; {
		m, err := i.receive(ctx)
		if err != nil {
			return nil, err
		}
		if at := m.ID - first; at >= 0 && at < len(out) && out[at] == nil {
			out[at] = m
			left--
		}
	}
	return out, nil
}

// workerPoll is how often a worker's response is looked for.
const workerPoll = 5 * time.Millisecond

// callWorker is call, of a worker thread. One that stands still, as in Atomics.wait, may not
// respond before ctx ends. The connection stays: it is read by calls of the process alone,
// since a reading that is broken off closes it.
func (i *inspector) callWorker(ctx context.Context, w *worker, method string, params, into any) error {
	i.last++
	id := i.last
	message, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return err
	}
	if err := i.call(ctx, "NodeWorker.sendMessageToWorker", map[string]any{"sessionId": w.session, "message": string(message)}, nil); err != nil {
		return err
	}
	for {
		if m := w.replies[id]; m != nil {
			delete(w.replies, id)
			return m.read(method, into)
		}
		if w.gone {
			return fmt.Errorf("%s: the worker has ended", method)
		}
		if !notify.Sleep(ctx, workerPoll) {
			return fmt.Errorf("%s: the worker does not respond", method)
		}
		if err := i.call(context.WithoutCancel(ctx), "Runtime.getIsolateId", nil, nil); err != nil {
			return err
		}
	}
}

// response is a message of the inspector: to a command, by its id, or an event.
type response struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// read gives what a command responded with, or its error.
func (m *response) read(method string, into any) error {
	switch {
	case m.Error != nil:
		return fmt.Errorf("%s: %s", method, m.Error.Message)
	case into == nil:
		return nil
	}
	return json.Unmarshal(m.Result, into)
}

// receive reads a message. Events are passed over, but for those of worker threads and
// the profile of a console.profile that has ended.
func (i *inspector) receive(ctx context.Context) (*response, error) {
	_, b, err := i.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	var m response
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	switch {
	case m.Method == "Profiler.consoleProfileFinished":
		var of struct {
			Profile json.RawMessage `json:"profile"`
		}
		if err := json.Unmarshal(m.Params, &of); err != nil {
			return nil, err
		}
		i.look = of.Profile
	case strings.HasPrefix(m.Method, "NodeWorker."):
		i.heard(m.Method, m.Params)
	}
	return &m, nil
}
