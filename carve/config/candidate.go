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
	if given && isRPC {
		r.response(response, rpc)
	}
	request, given := c.child("request", "{body: FIELD, query: {NAME: FIELD}}")
	if given && isRPC {
		r.request(request, rpc)
	}
	if !isRPC && !r.failed(c.sub("rpc")) {
		c.useless("without rpc:, since such a candidate's responses pass as they are", "response")
		c.useless("without rpc:, since such a candidate is sent what users send", "request")
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
	protocols := []whittle.Protocol{whittle.Twirp, whittle.TwirpJSON, whittle.Connect, whittle.GRPC}
	o.need(choose(o, "protocol", &rpc.Protocol, texts(protocols), protocols...), "protocol", "write one of: "+strings.Join(texts(protocols), ", "))
	path := ""
	if o.file("descriptor", &path, files) {
		b, err := files.read(path)
		if err != nil {
			r.failField(o.sub("descriptor"), "cannot be read: %v; buf build -o %s makes one", err, filepath.Base(path))
		}
		rpc.Descriptor = b
	} else {
		o.need(false, "descriptor", "write the file that buf build -o or protoc --descriptor_set_out made")
	}
	o.need(read(o, "method", "package.Service/Method", &rpc.Method, parseMethod), "method", "write package.Service/Method")
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
	if rpc.Status == 304 {
		r.failField(o.sub("status"), "304 answers a condition, which no call has: write the status that the response has without one")
	}
	o.text("body", &rpc.Response)
	o.texts("nulls", "[$.owner.phone]", &rpc.Nulls, jsonPath)
	o.texts("absent", "[$.tags]", &rpc.Absent, jsonPath)
	if rpc.Template != "" {
		o.useless("with template:, which writes the whole response", "body", "nulls", "absent")
	}
	choose(o, "failures", &rpc.Verbatim, []string{"by code", "verbatim"}, false, true)
	o.done()
}

// request reads how a user's request is mapped to the message.
func (r *reader) request(o *object, rpc *whittle.RPC) {
	choose(o, "content", &rpc.Content, []string{"json", "form", "ignored"}, whittle.BodyJSON, whittle.BodyForm, whittle.BodyIgnored)
	if o.text("body", &rpc.Body) && rpc.Content != whittle.BodyJSON {
		o.useless("where the content is "+string(rpc.Content), "body")
	}
	o.names("query", "{userId: user_id}", &rpc.Query)
	o.names("path", "{id: user_id}", &rpc.Path)
	o.names("form", "{user-name: user_name}", &rpc.Form)
	if len(rpc.Form) > 0 && rpc.Content != whittle.BodyForm {
		o.useless("without content: form", "form")
	}
	choose(o, "unknown", &rpc.Strict, []string{"leave out", "refuse"}, false, true)
	choose(o, "loss", &rpc.Lossless, []string{"allow", "refuse"}, false, true)
	o.texts("nulls", "[$.owner.phone]", &rpc.AskedNulls, jsonPath)
	o.texts("absent", "[$.tags]", &rpc.AskedAbsent, jsonPath)
	if !rpc.Lossless {
		o.useless("without loss: refuse", "nulls", "absent")
	}
	o.done()
}
