package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/gateway"
	"whittle/carve/gateway/accesslog"
	"whittle/carve/gateway/preview"
	"whittle/internal/units"
)

// checkFile refuses what relates blocks to each other, once each is right by itself, and warns
// of what is allowed and probably not meant.
func (r *reader) checkFile(f *File) {
	r.checkOverlap(f.Routes)
	r.checkNotices(f)
	r.checkQueries(f)
	r.checkPorts(f)
	r.checkFiles(f)
	r.checkHeaders(f)
	r.checkGroups(f)
	r.checkBeside(f)
	r.checkSteering(f)
	r.warnServer(f)
	r.warnUpstream("monolith", &f.Monolith)
	for i := range f.Routes {
		r.warnRoute(f, fmt.Sprintf("routes[%d]", i), &f.Routes[i])
	}
}

// checkOverlap refuses two routes of which a request could equally well mean either.
func (r *reader) checkOverlap(routes []whittle.Route) {
	_, err := gateway.NewMatcher(routes)
	joined, failed := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !failed {
		return
	}
	for _, one := range joined.Unwrap() {
		if e, ok := errors.AsType[*whittle.Error](one); ok && !r.isGivenTwice(e.Field, routes) {
			r.failField(e.Field, "%v", e)
		}
	}
}

// isGivenTwice reports whether a match at fault is one that an earlier route has, and says where that is.
func (r *reader) isGivenTwice(field string, routes []whittle.Route) bool {
	var i int
	if _, err := fmt.Sscanf(field, "routes[%d].match", &i); err != nil || i >= len(routes) {
		return false
	}
	j := slices.IndexFunc(routes[:i], func(a whittle.Route) bool { return a.Name == routes[i].Name })
	if j >= 0 {
		first := r.where[fmt.Sprintf("routes[%d]", j)]
		r.failField(field, "%s is given twice; the first is routes[%d] in %s", quote(routes[i].Name), j-r.sources[first.file].first, r.sources.place(first))
	}
	return j >= 0
}

func (r *reader) failIf(is bool, field, format string, args ...any) {
	if is {
		r.failField(field, format, args...)
	}
}

func (r *reader) warnIf(is bool, field, format string, args ...any) {
	if is {
		r.warn(field, format, args...)
	}
}

// checkGroups refuses groups that could not share a draw.
func (r *reader) checkGroups(f *File) {
	grouped := map[string]*whittle.Route{}
	for i := range f.Routes {
		t := &f.Routes[i]
		if t.Candidate == nil || t.Group == "" {
			continue
		}
		o := cmp.Or(grouped[t.Group], t)
		r.failIf(t.Rollout.Sticky != o.Rollout.Sticky, fmt.Sprintf("routes[%d].group", i), "also has %s, which identifies users by another sticky_by: all routes of a group need the same one", quote(o.Name))
		grouped[t.Group] = o
	}
}

// checkFiles refuses to write over the config, what it includes, or a file that is read or
// written already.
func (r *reader) checkFiles(f *File) {
	taken := map[string]string{}
	for _, s := range append(sources{{name: f.Path}}, r.sources...) {
		taken[absolute(s.name)] = "the config " + s.name
	}
	written := map[string]string{"state": f.State}
	if f.Access != nil {
		written["access.file"] = f.Access.File
	}
	if f.Record != nil {
		written["record.key_file"] = f.Record.KeyFile
	}
	for i, l := range f.Listen {
		written[r.listenField(f, i)] = l.Unix
	}
	for _, field := range sortedKeys(r.files) {
		if _, writes := written[field]; !writes {
			taken[absolute(r.files[field])] = "the file of " + field
		}
	}
	order := sortedKeys(written)
	slices.Reverse(order) // the state file is there by default, and so is never the one too many
	for _, field := range order {
		path := written[field]
		if path == "" {
			continue
		}
		by, twice := taken[absolute(path)]
		r.failIf(twice, field, "%s is %s already; write another file", quote(path), by)
		taken[absolute(path)] = "the file of " + field
	}
}

// checkHeaders refuses what asks for fields that would never arrive, and headers that are taken
// off users' requests and are needed for something else.
func (r *reader) checkHeaders(f *File) {
	arrives := func(field, header string) {
		r.failIf(!f.Underscores && strings.Contains(header, "_"), field, "%s never arrives, since headers with an underscore in their name are dropped: write underscores_in_headers: true", header)
	}
	id := ""
	if f.Access != nil {
		id = f.Access.RequestID
		for i, field := range f.Access.Fields {
			if name, ok := strings.CutPrefix(field, accesslog.RequestHeader); ok {
				arrives(fmt.Sprintf("access.fields[%d]", i), name)
			}
		}
	}
	for i := range f.Routes {
		t, field := &f.Routes[i], fmt.Sprintf("routes[%d]", i)
		arrives(field+".header", t.Match.HeaderName)
		arrives(field+".rollout.sticky_by", headerOf(t.Rollout.Sticky))
		off := func(field, header string) {
			needed := []string{t.Match.HeaderName, headerOf(t.Rollout.Sticky), id}
			r.failIf(header != "" && slices.Contains(needed, header), field, "%s would be removed from users' requests, where this route's header:, sticky_by "+
				"or access.request_id needs it: write another header", header)
		}
		if t.Rollout.Preview != nil {
			off(field+".rollout.preview", preview.Field)
		}
		if d := t.DryRun; d != nil {
			off(field+".dry_run", d.Header)
			r.failIf(t.Rollout.Preview != nil && d.Header == preview.Field, field+".dry_run", "%s is the header of a preview; write another one", d.Header)
		}
	}
}

// headerOf is the header that users are known by; "": they are known by something else.
func headerOf(s whittle.Sticky) string {
	if s.By == "header" {
		return s.Name
	}
	return ""
}

// warnServer warns of settings of the whole gateway that open it, have no effect, or contradict
// each other.
func (r *reader) warnServer(f *File) {
	everybody := func(field string, nets []netip.Prefix) {
		for i, p := range nets {
			r.warnIf(p.Bits() == 0, fmt.Sprintf("%s[%d]", field, i), "%s trusts everybody, so any client can claim to be any other; write the networks of the proxies in front", p)
		}
	}
	everybody("forwarded.trust", f.Forwarded.Trust)
	for i, l := range f.Listen {
		field := r.listenField(f, i)
		everybody(field+".proxy_protocol.trust", l.Proxies)
		_, port, err := net.SplitHostPort(l.Address)
		r.warnIf(err == nil && l.Redirect != nil && port == strconv.Itoa(l.Redirect.Port), field+".redirect",
			"leads back to %s, which does not speak TLS, unless clients see another port; write the HTTPS port", quote(l.Address))
	}
	if rec := f.Record; rec != nil {
		r.warnIf(rec.MaxBody > rec.MaxBytes, "record.max_body", "%s is above max_bytes, %s, so one such body is more than the whole log may have", size(rec.MaxBody), size(rec.MaxBytes))
	}
}

// warnUpstream warns of an upstream's settings that expose its traffic or have no effect.
func (r *reader) warnUpstream(field string, u *whittle.Upstream) {
	r.warnIf(u.Insecure && !isHTTPS(u.URL), field+".insecure", "has no effect, since the URL is not https")
	r.warnIf(u.Insecure && isHTTPS(u.URL), field+".insecure", "accepts any certificate, so somebody in between can read and change the traffic")
	seen := map[string]string{}
	for _, raw := range all(u) {
		scheme, port := portIn(raw)
		r.warnIf(scheme == "http" && port == "443" || scheme == "https" && port == "80", field, "%s has the port of the other scheme; change the scheme or the port", quote(raw))
		same := sameServer(raw)
		r.warnIf(seen[same] != "", field, "%s and %s are the same server, which gets twice the share of the others", quote(seen[same]), quote(raw))
		seen[same] = raw
	}
	_, given := r.where[field+".connect_timeout"]
	r.warnIf(given && u.ConnectTimeout > u.Timeout, field+".connect_timeout", "%s is above timeout, %s, which also ends the wait for a connection; write less here or more there",
		units.Span(u.ConnectTimeout), units.Span(u.Timeout))
}

// warnRoute warns of what keeps a route from being compared or shifted, or its bounds from
// holding anything back.
func (r *reader) warnRoute(f *File, field string, t *whittle.Route) {
	m, p, d := &t.Match, &t.Rollout, t.DryRun
	if t.Candidate == nil {
		return
	}
	r.warnUpstream(field+".candidate", t.Candidate)
	for _, raw := range all(t.Candidate) {
		same := func(other string) bool { return sameServer(other) == sameServer(raw) }
		r.warnIf(slices.ContainsFunc(all(&f.Monolith), same), field+".candidate", "%s is the monolith itself, or one of its instances, so the verdict says nothing about a replacement", quote(raw))
	}
	r.warnIf(m.Method != "" && !isSafe(t) && d == nil, field, "%s is not mirrored, so nothing is compared and it never shifts by itself: write safe: "+
		"true if it changes nothing, or dry_run: {HEADER: VALUE} if that header keeps the candidate from carrying it out", quote(t.Name))
	if d != nil {
		r.warnIf(isSafe(t), field+".dry_run", "is not needed where requests are safe")
		r.warnIf(strings.Contains(d.Header, "_"), field+".dry_run", "%s has an underscore: many servers drop such headers, and would carry out the write; write a header such as X-Dry-Run", d.Header)
	}
	r.warnIf(p.Auto && t.Mirror.Sample == 0 && isSafe(t), field+".mirror.sample", "0%% mirrors nothing, so nothing is compared and it never shifts by itself; write a share, or rollout: {auto: false}")
	shares := map[string]float64{
		".guard.errors": t.Guard.Errors, ".guard.mismatch": t.Guard.Mismatch, ".rollout.harm": p.Harm,
		".compare.margin.mean": t.Compare.Margin.Mean, ".compare.margin.distribution": t.Compare.Margin.Distribution,
	}
	for _, key := range sortedKeys(shares) {
		r.warnIf(shares[key] >= 1, field+key, "100%% is never exceeded, so this holds nothing back")
	}
	for j, path := range t.Compare.Ignore {
		r.warnIf(slices.Contains([]string{"$", "$.*", "$..*", "$[*]"}, path), fmt.Sprintf("%s.compare.ignore[%d]", field, j), "%s is the whole body, so EQUIVALENT would say nothing "+
			"about it; write the paths that may differ", path)
	}
	r.warnIf(!p.Auto && p.Retry > 0, field+".rollout.retry", "has no effect with auto: false")
	last := p.Steps[len(p.Steps)-1]
	r.warnIf(last != whittle.All, field+".rollout.steps", "ends at %s, so the monolith keeps serving the rest", percent(last.Percent()/100))
	// Copies must be as long as the response that they would be compared with.
	least := min(t.Candidate.MaxResponse, f.Monolith.MaxResponse, t.Mirror.MaxMemory/4)
	r.warnIf(t.Mirror.MaxBody > least, field+".mirror.max_body", "%s is above a side's max_response or a quarter of mirror.max_memory, %s, and what is "+
		"longer than that is not compared; raise that too", size(t.Mirror.MaxBody), size(least))
}

// sameServer normalizes a URL: those of the same server and path come out equal.
func sameServer(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "unix" {
		return raw
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	switch a := addressOf(host); {
	case a.IsUnspecified() && a.Is4(): // dialled, it is the loopback address
		host = addressOf("localhost").String()
	case a.IsUnspecified():
		host = netip.IPv6Loopback().String()
	case a.IsValid():
		host = a.String()
	}
	return net.JoinHostPort(host, portOf(u)) + strings.TrimRight(u.EscapedPath(), "/")
}

// checkPorts refuses addresses of which the second could not be bound.
func (r *reader) checkPorts(f *File) {
	for i, l := range f.Listen {
		field := r.listenField(f, i)
		if f.Admin != "" && sameSocket(l.Address, f.Admin) {
			r.failField(field, "%s is a port of the admin API, which listens on %s; write another port here, or under admin", quote(l.Address), f.Admin)
		}
		for j, before := range f.Listen[:i] {
			if l.Address != before.Address && sameSocket(l.Address, before.Address) {
				r.failField(field, "%s is a part of listen[%d], %s; leave one of the two out", quote(l.Address), j, before.Address)
			}
		}
	}
}

// sameSocket reports whether two addresses of this machine certainly cannot both be bound.
func sameSocket(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	ipA, ipB := addressOf(hostA), addressOf(hostB)
	return hostA == "" || hostB == "" || hostA == hostB || ipA.IsUnspecified() && ipA.Is6() || ipB.IsUnspecified() && ipB.Is6() ||
		ipA.IsValid() && ipB.IsValid() && (ipA == ipB || ipA.Is4() == ipB.Is4() && (ipA.IsUnspecified() || ipB.IsUnspecified()))
}

// absolute is a socket's path from the root, as written where there is no working folder.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
