package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// mutation is a mistake that could be made in the protocol: a text of a source file and
// another one in its place.
type mutation struct{ name, file, old, wrong string }

var mutations = []mutation{
	{"no fencing: positions are written whatever the store has", "carve/fleet/lead.go", "r.proposed, &expect)", "r.proposed, (*uint64)(nil)); _ = expect"},
	{"a stale watch is applied: an earlier generation is taken", "carve/fleet/member.go", "p.Generation <= r.taken.Generation ||", ""},
	{"the member's lease is never checked", "carve/fleet/fleet.go", "n.everSeen && n.now.since(n.heard) >= n.c.Lease", "false"},
	{"the lease counts from when a report comes back", "carve/fleet/fleet.go", "n.heard, n.everSeen = at, true", "n.heard, n.everSeen = n.now, true"},
	{"a trip is ignored by the other gateways", "carve/fleet/member.go", "case r.trip.Generation > r.zero:\n\t\treturn 0,", "case false:\n\t\treturn 0,"},
	{"the leader does not decide on a trip", "carve/fleet/lead.go", "f.Trip > r.proposed.Zero", "false"},
	{"a limit that is lowered is given away before it is confirmed", "carve/fleet/permits.go", "d.seats[h].Report.Grants >= g.Since", "true"},
	{"a silent gateway's permits are given away at once", "carve/fleet/permits.go", "; owes {", "; owes && g.Owed < 0 {"},
	{"a silent gateway's permits come back without a good response", "carve/fleet/permits.go", "d.use(other).GoodEra >= g.Era", "other != \"\""},
	{"a restarted gateway has its old permits", "carve/fleet/permits.go", `return member + "@" + strconv.FormatUint(run, 36)`, `return member + "@" + strconv.FormatUint(run&0, 36)`},
	{"permits are given that others still owe", "carve/fleet/permits.go", "min(target, has+*free)", "target"},
	{"a report counts each time it comes", "carve/account/account.go", "p.Report = c", "c.Ledger.Add(&p.Report.Ledger)\n\t\tp.Report = c"},
	{"the next leader judges again what was judged", "bench/fleet/sim/decide.go", "r.Position, r.Issued, r.Place", "r.Position, r.Issued, 0"},
	{"a gateway with an older config takes part", "carve/fleet/member.go", "case !r.agrees():\n\t\treturn 0,", "case false:\n\t\treturn 0,"},
	{"a suspension is not noticed", "carve/fleet/fleet.go", "return max(t.Mono-o.Mono, t.Wall-o.Wall)", "return t.Mono - o.Mono"},
	{"a gateway forgets what it knew when it restarts", "carve/fleet/fleet.go", "n.restore(c.Kept)", ""},
	{"a new leader resumes from its record, whatever is known", "carve/fleet/lead.go", "case share == 0:\n\t\treturn 0, \"\"", "case f.Generation >= 0:\n\t\treturn share, \"\""},
	{"the next step is decided before the store shows the last one", "carve/fleet/lead.go", "return r.proposed != nil && r.stored.Generation < r.proposed.Generation", "return r.proposed != nil && r.stored.Generation == 0"},
	{"an exchange that was not acknowledged is not sent again", "carve/fleet/unsettled.go", "u.list, u.bytes = append(u.list, s), u.bytes+len(s.Message)", "_ = s"},
	{"an exchange is sent again, however long ago it was sent first", "carve/fleet/unsettled.go", "now.since(s.First) < u.Remembered", "(s.First != Instant{})"},
	{"the lease is taken while it is renewed", "carve/fleet/lead.go", "silent -= n.c.Lease", "silent += n.c.Lease"},
}

type finding struct {
	mutation   mutation
	seed, step int
	fault      string
}

// mutantSteps is how long a mutation may go unnoticed.
const mutantSteps = 3_000_000

// plant runs every mutation until it is found.
func plant(ctx context.Context) ([]finding, error) {
	dir, err := os.MkdirTemp("", "fleet-mutants-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var found []finding
	var missed []string
	for _, m := range mutations {
		f, err := try(ctx, dir, m)
		if err != nil {
			return nil, err
		}
		if f == nil {
			missed = append(missed, m.name)
			fmt.Println("NOT FOUND:", m.name)
			continue
		}
		fmt.Printf("found: %s (%s)\n", m.name, f.fault)
		found = append(found, *f)
	}
	if len(missed) > 0 {
		return nil, fmt.Errorf("%d of %d mutations were not found: %s", len(missed), len(mutations), strings.Join(missed, "; "))
	}
	fmt.Printf("%d mutations, and all were found\n", len(found))
	return found, nil
}

var failure = regexp.MustCompile(`seed (\d+): at [^,]+, step (\d+): (.*)`)

// in is the source with the mutation in it. The repository is at root.
func (m *mutation) in(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%s has %d places for the mutation %q", m.file, n, m.name)
	}
	return strings.Replace(string(source), m.old, m.wrong, 1), nil
}

// try builds this program with a mutation in the place of the source, and runs it.
func try(ctx context.Context, dir string, m mutation) (*finding, error) {
	source, err := m.in(".")
	if err != nil {
		return nil, err
	}
	wrong := filepath.Join(dir, "wrong.go")
	if err := os.WriteFile(wrong, []byte(source), 0o600); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(m.file)
	if err != nil {
		return nil, err
	}
	overlay, _ := json.Marshal(map[string]map[string]string{"Replace": {path: wrong}}) // strings only
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutant")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-overlay", list, "-o", program, "./bench/fleet").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the mutation %q: %w\n%s", m.name, err, out)
	}
	out, err := exec.CommandContext(ctx, program, "-mutants=false", "-steps", strconv.Itoa(mutantSteps)).Output()
	if err == nil {
		return nil, nil
	}
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		return nil, err
	}
	match := failure.FindStringSubmatch(string(out))
	if match == nil {
		return nil, fmt.Errorf("the mutation %q ends with %w\n%s", m.name, err, out)
	}
	seed, _ := strconv.Atoi(match[1])
	step, _ := strconv.Atoi(match[2])
	return &finding{m, seed, step, match[3]}, nil
}
