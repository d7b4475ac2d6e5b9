package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/netip"
	"net/url"
	urlpath "path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
	"whittle/carve/gateway/accesslog"
	"whittle/internal/httpfield"
	"whittle/internal/units"
)

func parseMediaType(s string) (string, error) {
	t, _, err := mime.ParseMediaType(s)
	if err != nil || !strings.Contains(t, "/") {
		return "", fmt.Errorf("%s is not a media type: write text/html; charset=utf-8 or application/json", quote(s))
	}
	return s, nil
}

// parseContentType also takes none.
func parseContentType(s string) (string, error) {
	if s == whittle.NoContentType {
		return s, nil
	}
	return parseMediaType(s)
}

// checkRPC checks the method and the template against the contract.
func (r *reader) checkRPC(c *object, rpc *whittle.RPC) {
	descriptor, method := c.sub("rpc.descriptor"), c.sub("rpc.method")
	if len(rpc.Descriptor) == 0 || r.failed(descriptor) {
		if rpc.Descriptor != nil && !r.failed(descriptor) {
			r.failField(descriptor, "is empty")
		}
		return
	}
	services, err := servicesOf(rpc.Descriptor)
	if err != nil {
		// protobuf's errors have a no-break space in every other build, so that
		// nobody relies on their text.
		why := strings.ReplaceAll(err.Error(), "\u00a0", " ")
		r.failField(descriptor, "is not a set of file descriptors (buf build -o or protoc --include_imports --descriptor_set_out make one): %s", why)
		return
	}
	if rpc.Method == "" {
		return
	}
	m, ok := services[rpc.Method]
	switch names := slices.Sorted(maps.Keys(services)); {
	case ok && (m.IsStreamingClient() || m.IsStreamingServer()):
		r.failField(method, "%s streams, and only methods with one message each way can be put behind a route", quote(rpc.Method))
	case ok:
		r.checkTemplate(c.sub("response.template"), rpc.Template, m.Output())
	case len(names) == 0:
		r.failField(descriptor, "holds no service")
	case closest(rpc.Method, names) != "":
		r.failField(method, "%s is not in the descriptor; did you mean %s?", quote(rpc.Method), closest(rpc.Method, names))
	default:
		r.failField(method, "%s is not in the descriptor; it has: %s", quote(rpc.Method), strings.Join(names[:min(len(names), 10)], ", "))
	}
}

// servicesOf gives every method of a descriptor set by package.Service/Method.
func servicesOf(set []byte) (map[string]protoreflect.MethodDescriptor, error) {
	var fds descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &fds); err != nil {
		return nil, err
	}
	if len(fds.GetFile()) == 0 {
		return nil, errors.New("no file in it")
	}
	files, err := protodesc.NewFiles(&fds)
	if err != nil {
		return nil, err
	}
	out := map[string]protoreflect.MethodDescriptor{}
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			service := f.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				out[string(service.FullName())+"/"+string(m.Name())] = m
			}
		}
		return true
	})
	return out, nil
}

// checkTemplate renders the template once from a response in which every field
// has its zero value.
func (r *reader) checkTemplate(field, text string, out protoreflect.MessageDescriptor) {
	if text == "" {
		return
	}
	t, err := template.New("template").Option("missingkey=error").Parse(text)
	if err != nil {
		r.failField(field, "is not a template: %s", templateFault(err))
		return
	}
	zero, names := map[string]any{}, []string{}
	for i := range out.Fields().Len() {
		f := out.Fields().Get(i)
		names = append(names, "."+string(f.Name()))
		zero[string(f.Name())], zero[f.JSONName()] = zeroOf(f), zeroOf(f)
	}
	if err := t.Execute(io.Discard, zero); err != nil {
		r.failField(field, "does not fit %s: %s; its fields are: %s", out.FullName(), templateFault(err), strings.Join(names, ", "))
	}
}

// zeroOf is the value that a template gets for a field that is not set.
func zeroOf(f protoreflect.FieldDescriptor) any {
	switch {
	case f.IsMap():
		return map[string]any{}
	case f.IsList():
		return []any{}
	case f.Message() != nil:
		return nil
	case f.Enum() != nil:
		return string(f.DefaultEnumValue().Name())
	case f.Kind() == protoreflect.BytesKind:
		return ""
	}
	return f.Default().Interface()
}

func templateFault(err error) string {
	s := strings.TrimPrefix(err.Error(), "template: ")
	return strings.Replace(s, "executing \"template\" ", "", 1)
}

// checkCPU checks that the CPU time of both sides is known where a guard compares it.
func (r *reader) checkCPU(o *object, route *whittle.Route, monolith *whittle.Upstream) {
	if route.Guard.CPU == 0 || route.Candidate == nil {
		return
	}
	for _, side := range []struct {
		name string
		up   *whittle.Upstream
	}{{"candidate", route.Candidate}, {"monolith", monolith}} {
		if side.up.Metrics == "" && side.up.URL != "" {
			r.failField(o.sub("guard.cpu"), "needs the CPU time of both processes: write %s: {url: %s, metrics: URL}, its page for Prometheus", side.name, side.up.URL)
		}
	}
}

// isSafe reports whether a route's requests may be repeated without a header that makes
// them dry runs.
func isSafe(route whittle.Route) bool {
	return route.Safe || httpfield.IsSafe(route.Match.Method)
}

// checkUnderscores refuses what asks for fields that would never arrive.
func (r *reader) checkUnderscores(f *File) {
	if f.Underscores {
		return
	}
	check := func(field, header string) {
		if strings.Contains(header, "_") {
			r.failField(field, "%s never arrives, since fields with an underscore in their name are dropped: write underscores_in_headers: true", header)
		}
	}
	check("clients.by", headerOf(f.Clients.By))
	if f.Access != nil {
		for i, field := range f.Access.Fields {
			if name, ok := strings.CutPrefix(field, accesslog.RequestHeader); ok {
				check(fmt.Sprintf("access.fields[%d]", i), name)
			}
		}
	}
	for i, route := range f.Routes {
		check(fmt.Sprintf("routes[%d].header", i), route.Match.HeaderName)
		check(fmt.Sprintf("routes[%d].rollout.sticky_by", i), headerOf(route.Rollout.Sticky))
	}
}

// headerOf is the header that users are known by; "": they are known by something else.
func headerOf(s whittle.Sticky) string {
	if s.By == "header" {
		return s.Name
	}
	return ""
}

// checkFiles refuses to write over the config, what it includes, or a file that is read or
// written already.
func (r *reader) checkFiles(f *File) {
	taken := map[string]string{}
	for _, s := range append(sources{{name: f.Path}}, r.sources...) {
		taken[absolute(s.name)] = "the config " + s.name
	}
	type file struct{ field, path string }
	written := []file{{"state", f.State}}
	if f.Access != nil {
		written = append(written, file{"access.file", f.Access.File})
	}
	if f.Record != nil {
		written = append(written, file{"record.key_file", f.Record.KeyFile})
	}
	for i, l := range f.Listen {
		written = append(written, file{r.listenField(f, i), l.Unix})
	}
	writes := map[string]bool{}
	for _, w := range written {
		writes[w.field] = true
	}
	for _, field := range slices.Sorted(maps.Keys(r.files)) {
		if !writes[field] {
			taken[absolute(r.files[field])] = "the file of " + field
		}
	}
	for _, w := range written {
		if w.path == "" {
			continue
		}
		if by, twice := taken[absolute(w.path)]; twice {
			r.failField(w.field, "%s is %s already; write another file", quote(w.path), by)
			continue
		}
		taken[absolute(w.path)] = "the file of " + w.field
	}
}

// checkRedirects warns of listeners whose redirects lead back to them, unless ports are
// mapped on the way.
func (r *reader) checkRedirects(f *File) {
	for i, l := range f.Listen {
		_, port, err := net.SplitHostPort(l.Address)
		if err != nil || l.Redirect == nil || port != strconv.Itoa(l.Redirect.Port) {
			continue
		}
		r.warn(r.listenField(f, i)+".redirect", "leads back to %s, which speaks no TLS, unless clients see another port; write the port of HTTPS", quote(l.Address))
	}
}

// checkWarnings warns of what is allowed and probably not meant.
func (r *reader) checkWarnings(f *File) {
	r.warnUpstream("monolith", &f.Monolith, "the monolith's users")
	r.warnTrust(f)
	r.warnServer(f)
	for i, route := range f.Routes {
		field := fmt.Sprintf("routes[%d]", i)
		r.warnMatch(field+".match", &route.Match)
		if route.Candidate == nil {
			continue
		}
		r.warnSame(field+".candidate", &f.Monolith, route.Candidate)
		if route.Match.Method != "" && !isSafe(route) && route.DryRun == nil {
			r.warn(field, "%s is not mirrored, so nothing is compared and it never shifts by itself: say safe: true if it changes nothing, or dry_run: {HEADER: VALUE} if the candidate can be told not to mean it", quote(route.Name))
		}
		if isSafe(route) && route.DryRun != nil {
			r.warn(field+".dry_run", "is not needed where requests are safe")
		}
		if d := route.DryRun; d != nil && (slices.Contains(ofUsers, d.Header) || strings.HasPrefix(d.Header, "X-Forwarded-")) {
			r.warn(field+".dry_run", "%s has a sense of its own: the candidate gets %s in the place of what the user sent; write a header such as X-Dry-Run", d.Header, quote(d.Value))
		}
		if d := route.DryRun; d != nil && strings.Contains(d.Header, "_") {
			r.warn(field+".dry_run", "%s has an underscore, and many servers drop such headers and would mean it; write a header such as X-Dry-Run", d.Header)
		}
		r.warnLimits(field, &route)
		for j, path := range route.Compare.Ignore {
			if slices.Contains([]string{"$", "$.*", "$..*", "$[*]"}, path) {
				r.warn(fmt.Sprintf("%s.compare.ignore[%d]", field, j), "%s is all of the body, so nothing of it is compared, and EQUIVALENT says nothing of it; write the paths that may differ", path)
			}
		}
		if !route.Rollout.Auto && route.Rollout.Retry > 0 {
			r.warn(field+".rollout.retry", "has no effect with auto: false")
		}
		if last := route.Rollout.Steps[len(route.Rollout.Steps)-1]; last != whittle.All {
			r.warn(field+".rollout.steps", "ends at %s, so the monolith keeps answering the rest", percent(last.Percent()/100))
		}
		r.warnUpstream(field+".candidate", route.Candidate, "the candidate's traffic")
		r.checkCopies(f, field, &route)
	}
}

// checkCopies warns of copies that may be longer than the response that they would be
// compared with.
func (r *reader) checkCopies(f *File, field string, route *whittle.Route) {
	for _, bound := range []struct {
		name string
		is   int64
	}{
		{"the candidate's max_response", route.Candidate.MaxResponse},
		{"the monolith's max_response", f.Monolith.MaxResponse},
		{"a quarter of mirror.max_memory", route.Mirror.MaxMemory / 4},
	} {
		if route.Mirror.MaxBody > bound.is {
			r.warn(field+".mirror.max_body", "%s is above %s, %s, and what is longer than that is not compared; raise that too",
				size(route.Mirror.MaxBody), bound.name, size(bound.is))
		}
	}
}

// warnUpstream warns of an upstream's settings that expose its traffic or have no effect.
func (r *reader) warnUpstream(field string, u *whittle.Upstream, who string) {
	switch {
	case u.Insecure && !isHTTPS(u.URL):
		r.warn(field+".insecure", "has no effect, since the URL is not https")
	case u.Insecure:
		r.warn(field+".insecure", "any certificate is accepted, so %s can be listened to", who)
	}
	seen := map[string]string{}
	for _, raw := range append([]string{u.URL}, u.Others...) {
		switch scheme, port := portIn(raw); {
		case scheme == "http" && port == "443":
			r.warn(field, "%s speaks plain HTTP to the port of HTTPS; write https://, or another port", quote(raw))
		case scheme == "https" && port == "80":
			r.warn(field, "%s speaks TLS to the port of plain HTTP; write http://, or another port", quote(raw))
		}
		if same := sameServer(raw); seen[same] != "" {
			r.warn(field, "%s and %s are the same server, which so gets twice the share of the others", quote(seen[same]), quote(raw))
		} else {
			seen[same] = raw
		}
	}
	if _, given := r.where[field+".connect_timeout"]; given && u.ConnectTimeout > u.Timeout {
		r.warn(field+".connect_timeout", "%s is above timeout, %s, which ends the wait for a connection, too; write less here or more there",
			units.Span(u.ConnectTimeout), units.Span(u.Timeout))
	}
}

// warnSame warns of a candidate that is the monolith, even if the two are spelt
// differently.
func (r *reader) warnSame(field string, monolith, candidate *whittle.Upstream) {
	there := map[string]bool{}
	for _, raw := range append([]string{monolith.URL}, monolith.Others...) {
		there[sameServer(raw)] = true
	}
	for _, raw := range append([]string{candidate.URL}, candidate.Others...) {
		if !there[sameServer(raw)] {
			continue
		}
		if len(candidate.Others)+len(monolith.Others) == 0 {
			r.warn(field, "%s is the monolith itself, so the verdict says nothing of a replacement", quote(raw))
		} else {
			r.warn(field, "%s is one of the monolith's instances, so what it responds says nothing of a replacement", quote(raw))
		}
		return
	}
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

// warnTrust warns of lists that have everybody in them.
func (r *reader) warnTrust(f *File) {
	all := func(field string, nets []netip.Prefix) {
		for i, p := range nets {
			if p.Bits() == 0 {
				r.warn(fmt.Sprintf("%s[%d]", field, i), "%s is everybody, so any client can claim to be any other; write the networks of the proxies in front", p)
			}
		}
	}
	all("forwarded.trust", f.Forwarded.Trust)
	for i, l := range f.Listen {
		all(r.listenField(f, i)+".proxy_protocol.trust", l.Proxies)
	}
}

// listenField is a listener's field in the file.
func (r *reader) listenField(f *File, i int) string {
	if _, many := r.where["listen[0]"]; many || len(f.Listen) > 1 {
		return fmt.Sprintf("listen[%d]", i)
	}
	return "listen"
}

// methods are the registered ones, and those that caches and other servers are known to
// accept.
var methods = strings.Fields(`ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY DELETE GET HEAD LABEL LINK LOCK MERGE
	MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE OPTIONS ORDERPATCH PATCH POST PROPFIND PROPPATCH PUT QUERY
	REBIND REPORT SEARCH TRACE UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL
	BAN M-SEARCH NOTIFY PURGE REFRESH SUBSCRIBE UNSUBSCRIBE`)

var escapedDot = regexp.MustCompile(`%2[eE]`)

// warnMatch warns of requests that hardly any client sends.
func (r *reader) warnMatch(field string, m *whittle.Match) {
	if m.Method != "" && !slices.Contains(methods, m.Method) {
		near := closest(m.Method, []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
		if near != "" {
			near = "; did you mean " + near + "?"
		}
		r.warn(field, "%s is no method that is registered for HTTP, so hardly a request has it%s", m.Method, near)
	}
	for _, part := range strings.Split(m.Pattern, "/") {
		if dots := strings.ReplaceAll(strings.ToLower(part), "%2e", "."); dots == "." || dots == ".." {
			r.warn(field, "clients resolve %s in a path before they send it, so hardly a request has this one: write %s", part, urlpath.Clean(escapedDot.ReplaceAllString(m.Pattern, ".")))
			return
		}
	}
}

// checkNames refuses a header that is taken off users' requests and is needed for something
// else.
func (r *reader) checkNames(f *File) {
	for i := range f.Routes {
		route, field := &f.Routes[i], fmt.Sprintf("routes[%d]", i)
		if d := route.DryRun; d != nil {
			r.checkName(f, route, field+".dry_run", d.Header)
			if p := route.Rollout.Preview; p != nil && p.Header == d.Header {
				r.failField(field+".dry_run", "%s is the header of a preview; write another one", d.Header)
			}
		}
		if p := route.Rollout.Preview; p != nil {
			r.checkName(f, route, field+".rollout.preview.header", p.Header)
		}
	}
}

func (r *reader) checkName(f *File, route *whittle.Route, field, header string) {
	switch {
	case r.failed(field):
	case route.Match.HeaderName == header:
		r.failField(field, "%s is taken off users' requests, and is the condition of this route: write another header", header)
	case headerOf(route.Rollout.Sticky) == header:
		r.failField(field, "%s is taken off users' requests, and is what they are known by (sticky_by): write another header", header)
	case f.Access != nil && f.Access.RequestID == header:
		r.failField(field, "%s is taken off users' requests, and names them (access.request_id): write another header", header)
	}
}

// warnLimits warns of bounds of a route that bound nothing.
func (r *reader) warnLimits(field string, route *whittle.Route) {
	if route.Rollout.Auto && route.Mirror.Sample == 0 && isSafe(*route) {
		r.warn(field+".mirror.sample", "0%% mirrors nothing, so nothing is compared and it never shifts by itself; write a share, or rollout: {auto: false}")
	}
	for _, bound := range []struct {
		key string
		is  float64
	}{
		{".guard.errors", route.Guard.Errors},
		{".guard.mismatch", route.Guard.Mismatch},
		{".rollout.harm", route.Rollout.Harm},
		{".compare.margin.mean", route.Compare.Margin.Mean},
		{".compare.margin.distribution", route.Compare.Margin.Distribution},
	} {
		if bound.is >= 1 {
			r.warn(field+bound.key, "100%% is never exceeded, so this holds nothing back")
		}
	}
}

// warnServer warns of limits of the whole gateway that have no effect or contradict each
// other.
func (r *reader) warnServer(f *File) {
	if _, given := r.where["trace.sample"]; given && f.Trace.Endpoint == "" {
		r.warn("trace.sample", "has no effect without otlp:, since nothing is exported")
	}
	if _, port := portIn(f.Trace.Endpoint); port == "4317" {
		r.warn("trace.otlp", "4317 is the port of OTLP over gRPC, and what goes there is HTTP, whose port is 4318")
	}
	if _, given := r.where["clients.connections"]; given && f.Clients.Connections > f.Limits.Connections {
		r.warn("clients.connections", "%d is above limits.connections, %d, so no client reaches it", f.Clients.Connections, f.Limits.Connections)
	}
	if rec := f.Record; rec != nil && rec.MaxBody > rec.MaxBytes {
		r.warn("record.max_body", "%s is above max_bytes, %s, so one such body is more than all that is kept", size(rec.MaxBody), size(rec.MaxBytes))
	}
	_, inLog := r.where["log.access"]
	if _, section := r.where["access"]; section && inLog {
		r.warn("log.access", "has no effect next to access:, which says where requests are logged")
	}
}

// portIn gives the scheme and the port that stand in a URL.
func portIn(raw string) (scheme, port string) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", ""
	}
	return strings.TrimPrefix(u.Scheme, "srv+"), u.Port()
}
