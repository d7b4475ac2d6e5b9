package smell

import (
	"fmt"
	"strings"
	"time"

	"whittle/profile"
)

var nodeRules = []rule{
	{
		name: "sync-crypto", title: "cryptography blocks the event loop", least: 0.02,
		advice: "use the form with a callback or promise (crypto.pbkdf2, crypto.scrypt): it runs in the thread pool",
		match: func(v *view) (string, bool) {
			return v.named("pbkdf2Sync", "scryptSync", "hkdfSync", "generateKeyPairSync", "generateKeySync", "generatePrimeSync", "hashSync", "compareSync", "genSaltSync")
		},
	},
	{
		name: "sync-call", title: "a synchronous call blocks the event loop", least: 0.02,
		advice: "use fs.promises or a stream; read what does not change once, at the start",
		match: func(v *view) (string, bool) {
			if v.scripts("node:internal/modules/") { // require at the start reads files too
				return "", false
			}
			for i := len(v.stack) - 1; i >= 0; i-- {
				f := v.p.Functions[v.stack[i].Function]
				if f.Owner == profile.Standard && strings.HasSuffix(f.Name, "Sync") {
					return f.Name, true
				}
			}
			return "", false
		},
	},
	{
		name: "printing", title: "something is printed on the hot path", least: 0.05,
		advice: "delete the line, or log it at a level that is off; console.log writes synchronously to files and terminals",
		match: func(v *view) (string, bool) {
			return v.scriptNamed("node:internal/console/", "node:internal/util/inspect")
		},
	},
	{
		name: "connection-churn", title: "connections are opened again and again", least: 0.05,
		advice: "use an agent with keepAlive, shared by all requests",
		match: func(v *view) (string, bool) {
			return v.named("createSecureContext", "tlsConnect", "createConnection", "internalConnect", "lookupAndConnect")
		},
	},
	{
		name: "json-for-messages", title: "messages travel as JSON where the contract has protobuf", least: 0.10,
		advice: "send the binary form: encode() and decode() of the generated code",
		match: func(v *view) (string, bool) {
			if !v.usesProtobuf() {
				return "", false
			}
			return v.native("stringify", "parse")
		},
	},
}

// named finds a function of Node's own, or of a library, by its name.
func (v *view) named(names ...string) (string, bool) {
	for i := len(v.stack) - 1; i >= 0; i-- {
		f := v.p.Functions[v.stack[i].Function]
		if f.Owner == profile.Own {
			continue
		}
		for _, n := range names {
			if f.Name == n || strings.HasSuffix(f.Name, "."+n) {
				return f.Name, true
			}
		}
	}
	return "", false
}

// native finds a function of V8's own: one without a script.
func (v *view) native(names ...string) (string, bool) {
	for i := range v.stack {
		f := v.p.Functions[v.stack[i].Function]
		for _, n := range names {
			if f.Owner == profile.System && f.Name == n {
				return n, true
			}
		}
	}
	return "", false
}

// scripts says whether a function of one of Node's scripts is on the stack.
func (v *view) scripts(prefix string) bool {
	for _, f := range v.whole {
		if strings.HasPrefix(v.p.Functions[f.Function].File, prefix) {
			return true
		}
	}
	return false
}

// scriptNamed gives the function of one of Node's scripts that the own code called.
func (v *view) scriptNamed(prefixes ...string) (string, bool) {
	for i := len(v.stack) - 1; i >= 0; i-- {
		f := v.p.Functions[v.stack[i].Function]
		for _, prefix := range prefixes {
			if strings.HasPrefix(f.File, prefix) {
				return f.Name, true
			}
		}
	}
	return "", false
}

func (v *view) usesProtobuf() bool {
	for i := range v.p.Functions {
		if strings.Contains(v.p.Functions[i].File, "node_modules/protobufjs/") || strings.Contains(v.p.Functions[i].File, "node_modules/@bufbuild/") ||
			strings.Contains(v.p.Functions[i].File, "node_modules/google-protobuf/") {
			return true
		}
	}
	return false
}

// blockedFor is the stretch from which on the event loop counts as blocked: what
// a user feels, and about what Node's own documentation warns of.
const blockedFor = 50 * time.Millisecond

// blocked finds stretches of time in which one call from the event loop kept
// it: consecutive samples with the same outermost own function, without an idle
// one between them. Two short turns in a row look like a long one only if the
// profiler saw nothing between them; so a stretch must be seen three times.
func blocked(p *profile.Profile) []Smell {
	type stretch struct {
		longest, sum time.Duration
		count        int
	}
	all := map[int32]*stretch{}
	current, began, last := int32(-1), time.Duration(0), time.Duration(0)
	inside := map[[2]int32]int64{} // by outermost and nearest own function
	end := func(at time.Duration) {
		if d := at - began; current >= 0 && d >= blockedFor {
			s := all[current]
			if s == nil {
				s = &stretch{}
				all[current] = s
			}
			s.count++
			s.sum += d
			s.longest = max(s.longest, d)
		}
		current = -1
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.At < 0 {
			return nil
		}
		root := outermostOwn(p, s)
		if collecting := p.CategoryOf(s) == profile.Collecting; collecting && current >= 0 {
			root = current // the collector works for whoever runs
		}
		if root != current {
			end(s.At)
			current, began = root, s.At
		}
		if root >= 0 {
			if own := nearestOwn(p, s); own >= 0 {
				inside[[2]int32{root, s.Stack[own].Function}] += s.Value
			}
		}
		last = s.At
	}
	end(last)
	var out []Smell
	for root, s := range all {
		if s.count < 3 {
			continue
		}
		inner := root
		var most int64
		for at, v := range inside {
			if at[0] == root && v > most {
				inner, most = at[1], v
			}
		}
		f := p.Functions[inner]
		out = append(out, Smell{
			Name: "event-loop-blocked", Title: "one call keeps the event loop from everyone else",
			Function: f.Name, File: f.File, Line: f.Line, Share: float64(s.sum) / float64(max(p.Duration, 1)),
			Evidence: fmt.Sprintf("%s kept the event loop %d times for %s or more, the longest %s; most of it in %s",
				p.Functions[root].Name, s.count, blockedFor, s.longest.Round(time.Millisecond), f.Name),
			Advice: "carve it into a service of its own, move it to a worker thread, or do it in slices with setImmediate between them",
		})
	}
	return out
}

func nearestOwn(p *profile.Profile, s *profile.Sample) int {
	for i, f := range s.Stack {
		if p.Functions[f.Function].Owner == profile.Own {
			return i
		}
	}
	return -1
}

// outermostOwn gives the own function nearest to the root, -1 where none is.
func outermostOwn(p *profile.Profile, s *profile.Sample) int32 {
	for i := len(s.Stack) - 1; i >= 0; i-- {
		if p.Functions[s.Stack[i].Function].Owner == profile.Own {
			return s.Stack[i].Function
		}
	}
	return -1
}
