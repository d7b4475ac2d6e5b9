package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"whittle"
)

// maxDescriptor bounds the file with the contract; a set with all of an API's
// imports has some hundred KiB.
const maxDescriptor = 16 << 20

func (r *reader) candidate(o *object, route *whittle.Route, files folder) {
	n, ok := o.get("candidate")
	if !ok {
		return
	}
	u := upstreamDefaults()
	u.Timeout, u.WaitTimeout, u.MaxConns = 5*time.Second, 100*time.Millisecond, 256
	route.Candidate = &u
	c, ok := r.upstream(n, o.sub("candidate"), &u, files)
	if !ok {
		return
	}
	rpc, isRPC := r.rpc(c, files)
	r.healthGRPC(c, &u, isRPC && rpc.Protocol == whittle.GRPC)
	response, given := c.child("response", "{content_type: application/json}")
	switch {
	case given && !isRPC && !r.failed(c.sub("rpc")):
		r.failField(c.sub("response"), "has no effect without rpc:, since such a candidate's responses pass as they are")
	case given && isRPC:
		r.response(response, rpc)
	}
	request, given := c.child("request", "{body: FIELD, query: {NAME: FIELD}}")
	switch {
	case given && !isRPC && !r.failed(c.sub("rpc")):
		r.failField(c.sub("request"), "has no effect without rpc:, since such a candidate is sent what users send")
	case given && isRPC:
		r.request(request, rpc)
	}
	c.done()
	if isRPC {
		route.RPC = rpc
		r.checkRPC(c, rpc)
	}
}

func (r *reader) rpc(c *object, files folder) (*whittle.RPC, bool) {
	o, ok := c.child("rpc", "{protocol: twirp, descriptor: FILE, method: package.Service/Method}")
	if !ok {
		return nil, false
	}
	rpc := &whittle.RPC{ContentType: "application/json", Status: 200}
	protocol := ""
	if !o.oneOf("protocol", &protocol, string(whittle.Twirp), string(whittle.TwirpJSON), string(whittle.Connect), string(whittle.GRPC)) &&
		!r.failed(o.sub("protocol")) {
		r.fail(o.n.at, o.sub("protocol"), "is missing; write one of: twirp, twirp+json, connect, grpc")
	}
	rpc.Protocol = whittle.Protocol(protocol)
	path := ""
	if o.file("descriptor", &path, files) {
		b, err := files.read(path)
		if err != nil {
			r.failField(o.sub("descriptor"), "cannot be read: %v; buf build -o %s makes one", err, filepath.Base(path))
		}
		rpc.Descriptor = b
	} else if !r.failed(o.sub("descriptor")) {
		r.fail(o.n.at, o.sub("descriptor"), "is missing; write the file that buf build -o or protoc --descriptor_set_out made")
	}
	if !read(o, "method", "package.Service/Method", &rpc.Method, parseMethod) && !r.failed(o.sub("method")) {
		r.fail(o.n.at, o.sub("method"), "is missing; write package.Service/Method")
	}
	if rpc.Protocol == whittle.Twirp || rpc.Protocol == whittle.TwirpJSON {
		rpc.Prefix = "/twirp"
	}
	read(o, "prefix", "a path such as /twirp", &rpc.Prefix, parsePrefix)
	o.names("words", "{STATE_OPEN: open}", &rpc.Words)
	o.done()
	return rpc, true
}

func parseMethod(s string) (string, error) {
	service, method, ok := strings.Cut(strings.TrimPrefix(s, "/"), "/")
	if !ok || service == "" || method == "" || strings.ContainsAny(service+method, "/ ") {
		return "", fmt.Errorf("%s is not a method: write package.Service/Method", quote(s))
	}
	return service + "/" + method, nil
}

// parsePrefix reads the path before a procedure's; "/" stands for none.
func parsePrefix(s string) (string, error) {
	if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, "?# \t") {
		return "", fmt.Errorf("%s is not a path: write /twirp, or / for none", quote(s))
	}
	if s == "/" {
		return s, nil
	}
	return strings.TrimRight(s, "/"), nil
}

func (r *reader) response(o *object, rpc *whittle.RPC) {
	if o.text("template", &rpc.Template) {
		rpc.ContentType = "text/plain; charset=utf-8"
	}
	read(o, "content_type", "a media type such as text/html; charset=utf-8", &rpc.ContentType, parseContentType)
	o.count("status", &rpc.Status, 200, 399)
	if at, given := r.where[o.sub("status")]; given && rpc.Status == 304 {
		r.fail(at, o.sub("status"), "304 answers a condition, which no call has: write the status that the response has without one")
	}
	o.text("body", &rpc.Response)
	o.texts("nulls", "[$.owner.phone]", &rpc.Nulls, jsonPath)
	o.texts("absent", "[$.tags]", &rpc.Absent, jsonPath)
	for _, key := range []string{"body", "nulls", "absent"} {
		if at, given := r.where[o.sub(key)]; given && rpc.Template != "" {
			r.fail(at, o.sub(key), "has no effect with template:, which writes the whole response")
		}
	}
	failures := ""
	o.oneOf("failures", &failures, "by code", "verbatim")
	rpc.Verbatim = failures == "verbatim"
	o.done()
}

// request reads how a user's request is mapped to the message.
func (r *reader) request(o *object, rpc *whittle.RPC) {
	content := ""
	o.oneOf("content", &content, "json", string(whittle.BodyForm), string(whittle.BodyIgnored))
	if content != "json" {
		rpc.Content = whittle.BodyContent(content)
	}
	if o.text("body", &rpc.Body) && rpc.Content != whittle.BodyJSON {
		r.failField(o.sub("body"), "has no effect where the content is %s", content)
	}
	o.names("query", "{userId: user_id}", &rpc.Query)
	o.names("path", "{id: user_id}", &rpc.Path)
	o.names("form", "{user-name: user_name}", &rpc.Form)
	if len(rpc.Form) > 0 && rpc.Content != whittle.BodyForm {
		r.failField(o.sub("form"), "has no effect without content: form")
	}
	unknown := ""
	o.oneOf("unknown", &unknown, "leave out", "refuse")
	rpc.Strict = unknown == "refuse"
	loss := ""
	o.oneOf("loss", &loss, "allow", "refuse")
	rpc.Lossless = loss == "refuse"
	o.texts("nulls", "[$.owner.phone]", &rpc.AskedNulls, jsonPath)
	o.texts("absent", "[$.tags]", &rpc.AskedAbsent, jsonPath)
	for _, key := range []string{"nulls", "absent"} {
		if at, given := r.where[o.sub(key)]; given && !rpc.Lossless {
			r.fail(at, o.sub(key), "has no effect without loss: refuse")
		}
	}
	o.done()
}
