package behind

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	core "whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// steering is a proxy that sends users to the candidate itself, by the example that whittle tells
// the share.
type steering struct {
	front string // whose program it is
	// listens is where whittle does in the example, and sink that it is a mirror's.
	listens string
	sink    bool
	// files are those of the example that the proxy reads, and told what of whittle's config is about
	// the proxy, with the texts that stand for addresses: <d> is the door's, <w> whittle's, <a> its
	// admin API's, <m> the monolith's, <c> the candidate's, and <p> where the proxy is told or asked
	// the share; <d.h> is the host, <d.p> the port.
	files map[string][][2]string
	told  [][2]string
	// set changes the share at the proxy by hand.
	set func(t *testing.T, w *steered, share int)
}

var steerings = []steering{
	{
		front: "haproxy", listens: "127.0.0.1:8080", told: [][2]string{{"127.0.0.1:9999", "<p>"}},
		files: map[string][][2]string{"haproxy.cfg": {
			{"bind 127.0.0.1:8000", "bind <d> ssl crt %c/pair.pem"},
			{"stats socket 127.0.0.1:9999", "stats socket <p>"},
			{"addr 127.0.0.1 port 8081", "addr <a.h> port <a.p>"},
			{"127.0.0.1:8080", "<w>"},
			{"127.0.0.1:3000", "<m>"},
			{"127.0.0.1:3001", "<c>"},
		}, "whittle.map": nil},
		set: func(t *testing.T, w *steered, share int) {
			t.Helper()
			c, err := net.Dial("tcp", w.at["p"])
			fatal.If(t, err)
			defer c.Close()
			fmt.Fprintf(c, "set map whittle.map share %d\n", share)
			if said, err := io.ReadAll(bufio.NewReader(c)); err != nil || strings.TrimSpace(string(said)) != "" {
				t.Fatalf("%q, %v", said, err)
			}
		},
	},
	{
		front: "envoy", listens: "127.0.0.1:8090", sink: true, told: [][2]string{{"127.0.0.1:9901", "<p>"}},
		files: map[string][][2]string{"envoy.yaml": {
			{"127.0.0.1, port_value: 8000", "<d.h>, port_value: <d.p>"},
			{"127.0.0.1, port_value: 9901", "<p.h>, port_value: <p.p>"},
			{"127.0.0.1, port_value: 3000", "<m.h>, port_value: <m.p>"},
			{"127.0.0.1, port_value: 3001", "<c.h>, port_value: <c.p>"},
			{"127.0.0.1, port_value: 8090", "<w.h>, port_value: <w.p>"},
			fronts[2].more[0],
		}},
		set: func(t *testing.T, w *steered, share int) {
			t.Helper()
			url := fmt.Sprintf("http://%s/runtime_modify?routing.items.candidate=%d&routing.items.monolith=%d", w.at["p"], share, int(core.All)-share)
			resp, err := http.Post(url, "", http.NoBody)
			fatal.If(t, err)
			resp.Body.Close()
			http.DefaultClient.CloseIdleConnections()
			if resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status)
			}
		},
	},
	{
		front: "nginx", listens: "127.0.0.1:8090", sink: true, told: [][2]string{{"127.0.0.1:8079", "<p>"}, {"/tmp/whittle-off", "%d/off"}},
		files: map[string][][2]string{"nginx.conf": {
			{"listen 127.0.0.1:8000;", "listen <d> ssl; ssl_certificate %c/cert.pem; ssl_certificate_key %c/key.pem;"},
			{"127.0.0.1:8079", "<p>"},
			{"127.0.0.1:3000", "<m>"},
			{"127.0.0.1:3001", "<c>"},
			{"127.0.0.1:8090", "<w>"},
			{"/tmp/whittle-off", "%d/off"},
			{"/tmp/nginx-nobody.sock", "%d/nobody.sock"},
			{"pid nginx.pid;", "daemon off; pid nginx.pid;"},
			fronts[0].more[1],
		}, "split.conf": nil},
		set: func(t *testing.T, w *steered, share int) {
			t.Helper()
			dir := filepath.Dir(w.config)
			text := fmt.Sprintf("split_clients $whittle_user $whittle_side { %d%% candidate; * monolith; }\n", share/100) +
				fmt.Sprintf("map $host $whittle_share { default %d; }\n", share)
			fatal.Write(t, filepath.Join(dir, "split.conf"), text)
			fatal.If(t, w.proxy.Signal(syscall.SIGHUP))
			_ = os.Remove(filepath.Join(dir, "off")) // it is there at 0
		},
	},
}

// steered is whittle that steers a proxy.
type steered struct {
	*world
	steering
	at    map[string]string // addresses by the letters of files
	admin *admin.Client
	proxy *child.Process
	users []*user
	sides map[string]string // of users, as they were asked last
}

// population is how many users there are. So many of them at most are on the candidate at a share: it is
// a hash that draws them, of the same names each time.
const population = 100

func mostAt(share core.Share) int {
	if share == 0 || share == core.All {
		return int(share.Percent())
	}
	return int(share.Percent()) + 20
}

func (s steering) begin(t *testing.T) *steered {
	t.Helper()
	var f front
	for _, other := range fronts {
		if other.name == s.front {
			f = other
		}
	}
	program := needs.Tool(t, "whittle steers "+f.name, f.remedy, f.programs...)
	w, own := newWorld(t)
	more, err := child.Addresses(2)
	fatal.If(t, err)
	at := map[string]string{"w": own[0], "a": own[1], "d": more[0], "p": more[1], "m": w.monolith.address, "c": w.candidate.address}
	for letter, address := range maps.Clone(at) {
		at[letter+".h"], at[letter+".p"], _ = net.SplitHostPort(address)
	}
	place := func(pairs [][2]string) (out [][2]string) {
		for _, p := range pairs {
			for letter, address := range at {
				p[1] = strings.ReplaceAll(p[1], "<"+letter+">", address)
			}
			out = append(out, p)
		}
		return out
	}
	folder, main := "steer-"+s.front, ""
	for name, pairs := range s.files {
		path := w.example(t, folder, name, place(pairs)...)
		if name == f.file {
			main = path
		}
	}
	was, is := "rollout: {sticky_by", "hold: 0s, sticky_by"
	if s.sink { // where who is who is the proxy's to say
		was, is = "rollout: {hold: 30s", "hold: 0s"
	}
	config := w.example(t, folder, "whittle.yaml", place(append([][2]string{
		{s.listens, "<w>"},
		{"admin: 127.0.0.1:8081", "admin: <a>"},
		{"http://127.0.0.1:3000", "http://<m>"},
		{"http://127.0.0.1:3001", "http://<c>"},
		{was, "compare: {min_compared: 50, headers: {except: [X-Side, X-Way]}}\n" +
			"    mirror: {shed_above: off} # a busy machine would shed nearly all\n" +
			"    rollout: {steps: [5, 50, 100], soak: 0s, gates: [{name: test, confirm: manual, before: [step]}], " + is},
		{"    steer:\n", "    steer:\n      every: 1s\n"},
	}, s.told...))...)
	dir := filepath.Dir(main)
	p, err := child.Spawn(child.Options{Dir: dir}, append([]string{program}, f.args(dir, main)...)...)
	fatal.If(t, err)
	t.Cleanup(func() {
		p.Stop() // with its workers
		if t.Failed() {
			t.Logf("%s said\n%s", f.name, p.Tail())
		}
	})
	w.runs(t, config)
	c, err := admin.Dial(at["a"], "")
	fatal.If(t, err)
	t.Cleanup(c.Close)
	st := &steered{world: w, steering: s, at: at, admin: c, proxy: p, sides: map[string]string{}}
	d := &door{p, f.name, at["d"]}
	for i := range population {
		u := d.user(fmt.Sprintf("user-%d", i))
		t.Cleanup(u.transport.CloseIdleConnections)
		st.users = append(st.users, u)
	}
	process.Await(t, f.name+" to serve", func() (bool, string) {
		a := st.users[0].ask(http.MethodGet, "/items/1")
		return a.err == nil && (s.sink || a.way == "whittle"), fmt.Sprintf("%+v\n%s", a, p.Tail())
	})
	return st
}

func (s *steered) status(t *testing.T) core.RouteStatus {
	t.Helper()
	return status(t, s.admin, byCookie)
}

func (s *steered) order(t *testing.T, o rollout.Order) {
	t.Helper()
	_, err := s.admin.Order(t.Context(), byCookie, o)
	fatal.If(t, err)
}

// ask has every user ask once. None is on the candidate beyond the share that the proxy was told
// before or after, or had while a fall was under way.
func (s *steered) ask(t *testing.T) (moved int) {
	t.Helper()
	before := s.status(t).Steer
	for i, u := range s.users {
		a := u.ask(http.MethodGet, fmt.Sprintf("/items/%d", i))
		if a.status != http.StatusOK {
			t.Fatalf("%s: %+v", u.name, a)
		}
		s.sides[u.name] = a.side
		if a.side == "candidate" {
			moved++
		}
	}
	most := max(before.Share, before.Proxies[0].Share, s.status(t).Steer.Share)
	if moved > mostAt(most) {
		t.Errorf("%d of %d users are on the candidate at %v %%", moved, population, most.Percent())
	}
	return moved
}

// reaches lets users ask until the proxy has confirmed a share.
func (s *steered) reaches(t *testing.T, what string, share core.Share, more func(r *core.RouteStatus) bool) {
	t.Helper()
	process.Await(t, what, func() (bool, string) {
		s.ask(t)
		r := s.status(t)
		one := r.Steer.Proxies[0]
		return r.Share == share && one.Share == share && one.Confirmed && r.Steer.UnderWay == "" && more(&r),
			fmt.Sprintf("%v %%, %s, %s, %+v, ledger %s", r.Percent, r.Next, r.Verdict.Summary, r.Steer, r.Ledger.Account())
	})
}

func anyhow(*core.RouteStatus) bool { return true }

// TestSteer holds what docs/behind.md says of proxies that whittle tells the share, with the real
// proxies and their examples.
func TestSteer(t *testing.T) {
	for _, s := range steerings {
		t.Run(s.front, func(t *testing.T) { s.test(t) })
	}
}

func (s steering) test(t *testing.T) {
	w := s.begin(t)
	w.candidate.odd.Store(true)
	w.reaches(t, "a candidate that differs to be refused", 0, func(r *core.RouteStatus) bool { return r.Verdict.State == core.Different })
	if n := w.ask(t); n > 0 {
		t.Errorf("%d users are on a candidate that differs", n)
	}

	w.candidate.odd.Store(false)
	climb := func() {
		w.order(t, rollout.Order{Kind: rollout.Reset})
		w.reaches(t, "the first step", 500, anyhow)
		w.order(t, rollout.Order{Kind: rollout.Approve})
		w.reaches(t, "the second step", 5000, anyhow)
	}
	climb()
	gone := func() {
		w.candidate.stop()
		w.reaches(t, "a candidate that is gone to have no users", 0, func(r *core.RouteStatus) bool { return r.Phase == core.PhaseRolledBack })
	}
	if !s.sink { // at 100 % nothing comes by way of whittle
		gone()
		w.candidate.start(t)
		climb()
	}
	w.ask(t)
	had := w.sides
	w.sides = map[string]string{}
	w.order(t, rollout.Order{Kind: rollout.Approve})
	w.reaches(t, "the end of the shift", core.All, func(r *core.RouteStatus) bool { return r.Phase == core.PhaseLive })
	for name, side := range had {
		if side == "candidate" && w.sides[name] != "candidate" {
			t.Errorf("%s was taken back by a rise", name)
		}
	}
	fatal.Same(t, w.ask(t), population, "users on the candidate at 100 %%")

	s.set(t, w, 700)
	process.Await(t, "a share that was changed by hand to be said", func() (bool, string) {
		said := w.status(t).Steer.Proxies[0].Trouble
		return strings.Contains(said, "it has 7 %, which whittle has not set"), said
	})
	if s.sink {
		gone()
	} else {
		w.order(t, rollout.Order{Kind: rollout.Rollback})
		w.reaches(t, "a rollback", 0, anyhow)
	}
	if n := w.ask(t); n > 0 {
		t.Errorf("%d users are on the candidate after a rollback", n)
	}
	s.set(t, w, 9000)
	process.Await(t, "a share above what was decided to be taken back", func() (bool, string) {
		one := w.status(t).Steer.Proxies[0]
		return one.Share == 0 && one.Confirmed && strings.Contains(one.Note, "it had 90 %"), fmt.Sprintf("%+v", one)
	})
	w.proxy.Stop()
	process.Await(t, "a proxy that is gone to be said", func() (bool, string) {
		said := w.status(t).Steer.Proxies[0].Trouble
		return said != "", said
	})
	if s.sink { // where the verdict is against it, too
		return
	}
	_, err := w.admin.Order(t.Context(), byCookie, rollout.Order{Kind: rollout.Promote})
	if r := w.status(t); err == nil || !strings.Contains(err.Error(), r.Steer.Proxies[0].Name) || r.Share != 0 {
		t.Errorf("without a proxy it is promoted to %v %%: %v", r.Percent, err)
	}
}
