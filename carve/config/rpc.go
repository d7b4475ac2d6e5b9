package config

import (
	"fmt"
	"mime"
	"path/filepath"
	"strings"

	"whittle"
)

// candidate is an upstream that may speak an RPC.
func candidate(t *whittle.Route, u *whittle.Upstream) value {
	rpc := t.RPC
	if rpc == nil {
		rpc = new(whittle.RPC)
	}
	isRPC := func() bool { return t.RPC == nil }
	asRPC := func(v value) value { // shown with an RPC alone
		v.absent, v.open = isRPC, func() {}
		return v
	}
	keys := append(upstreamKeys(u, candidateWaits),
		key{"rpc", value{block: rpcOf(rpc).block, open: func() { t.RPC = rpc }, absent: isRPC}, "(none)", "for a candidate that speaks an RPC instead of the monolith's HTTP"},
		key{"request", asRPC(request(rpc)), "", "how a user's request becomes the method's message"},
		key{"response", asRPC(response(rpc)), "", "how the method's message becomes the user's response"})
	return either(mapping(likeUpstream, func(a at) {
		checkUpstream(a, u, t.RPC != nil && rpc.Protocol == whittle.GRPC)
		if t.RPC == nil {
			a.useless("without rpc:, since such a candidate is sent what users send, and its responses pass as they are", "request", "response")
			return
		}
		if !a.given("response") {
			a.r.defaults(response(rpc))
		}
		if rpc.Template != "" && !a.given("response.content_type") {
			rpc.ContentType = "text/plain; charset=utf-8"
		}
	}, keys...), instances(u))
}

// protocols are those of an RPC.
var protocols = []whittle.Protocol{whittle.Twirp, whittle.TwirpJSON, whittle.Connect, whittle.GRPC}

func rpcOf(rpc *whittle.RPC) value {
	var path string
	return mapping("{protocol: twirp, descriptor: FILE, method: package.Service/Method}", func(a at) {
		if path != "" {
			b, err := a.r.readFile(path)
			if err != nil {
				a.failKey("descriptor", "cannot be read: %v; buf build -o %s makes one", err, filepath.Base(path))
			} else if len(b) == 0 {
				a.failKey("descriptor", "is empty")
			}
			rpc.Descriptor = b
		}
		rpc.Method = strings.TrimPrefix(rpc.Method, "/")
		if rpc.Prefix != "/" {
			rpc.Prefix = strings.TrimRight(rpc.Prefix, "/")
		}
		if !a.given("prefix") && (rpc.Protocol == whittle.Twirp || rpc.Protocol == whittle.TwirpJSON) {
			rpc.Prefix = "/twirp"
		}
	},
		key{"protocol", chosen(&rpc.Protocol, protocols), required, "the RPC protocol"},
		key{"descriptor", file(&path), required, "a file descriptor set: `buf build -o count.binpb`"},
		key{"method", rpcMethod.of(&rpc.Method), required, "with one message each way"},
		key{"prefix", rpcPrefix.of(&rpc.Prefix), "(Twirp `/twirp`, else none)", "path before the procedure's"},
		key{"words", namesOf(&rpc.Words, "{STATE_OPEN: open}"), "(none)", "names of enum values in JSON, if not those of proto. The enum then has no others"})
}

// paths is a list of JSON paths.
func paths(dst *[]string) value { return listOf(dst, 0, maxNames, pathShape.of) }

func request(rpc *whittle.RPC) value {
	return mapping("{body: FIELD, query: {NAME: FIELD}}", func(a at) {
		if rpc.Content != whittle.BodyJSON {
			a.useless("where the content is "+string(rpc.Content), "body")
		}
		if len(rpc.Form) > 0 && rpc.Content != whittle.BodyForm {
			a.useless("without content: form", "form")
		}
		if !rpc.Lossless {
			a.useless("without loss: refuse", "nulls", "absent")
		}
	},
		key{
			"content", choice(&rpc.Content, []string{"json", "form", "ignored"}, whittle.BodyJSON, whittle.BodyForm, whittle.BodyIgnored), "json",
			"what a body is; `form`: `application/x-www-form-urlencoded`",
		},
		key{"body", text(&rpc.Body), "(the message)", "field that is the whole body: a list, a number, a text"},
		key{"query", namesOf(&rpc.Query, "{userId: user_id}"), "(by name)", "fields of query parameters with other names; these are read even if there is a body"},
		key{"path", namesOf(&rpc.Path, "{id: user_id}"), "(by name)", "the same for wildcards of the path"},
		key{"form", namesOf(&rpc.Form, "{user-name: user_name}"), "(by name)", "the same for the pairs of a form"},
		key{"unknown", choice(&rpc.Strict, []string{"leave out", "refuse"}, false, true), "leave out", "names without a field in the message; `refuse`: the monolith serves such a request"},
		key{
			"loss", choice(&rpc.Lossless, []string{"allow", "refuse"}, false, true), "allow",
			"requests that the message cannot hold exactly; `refuse`: the monolith serves them, for a candidate that asks it",
		},
		key{"nulls", paths(&rpc.AskedNulls), "(none)", "with `loss: refuse`, body fields that are `null` when unset"},
		key{"absent", paths(&rpc.AskedAbsent), "(none)", "with `loss: refuse`, body fields that are left out when empty"})
}

func response(rpc *whittle.RPC) value {
	return mapping("{content_type: application/json}", func(a at) {
		if rpc.Status == 304 {
			a.failKey("status", "304 answers a conditional request, which no RPC is: write the status of the whole response")
		}
		if rpc.Template != "" {
			a.useless("with template:, which writes the whole response", "body", "nulls", "absent")
		}
	},
		key{"template", text(&rpc.Template), "(none: JSON)", "Go's `text/template` over the message's fields: `\"Counted to {{.Sum}} \\n\"`"},
		key{
			"content_type", word(&rpc.ContentType, matching("media type, or `none`", `^[^/\s]+/[^/\s]|^none$`), parseContentType), "application/json",
			"of a mapped response; with a template `text/plain; charset=utf-8`; `none`: no header",
		},
		key{"status", count(&rpc.Status, 200, 399), "200", "of a mapped response, not 304; RPC errors have that of their code"},
		key{"body", text(&rpc.Response), "(the message)", "field that is the whole body; a text unless `content_type` is JSON"},
		key{"nulls", paths(&rpc.Nulls), "(none)", "fields that are `null` when unset or empty; other unset fields are left out"},
		key{"absent", paths(&rpc.Absent), "(none)", "lists, maps and zeros that are left out when empty"},
		key{"failures", choice(&rpc.Verbatim, []string{"by code", "verbatim"}, false, true), "by code", "`verbatim`: an RPC error may carry a whole response for the user"})
}

// parseContentType also takes none.
func parseContentType(s string) (string, error) {
	if t, _, err := mime.ParseMediaType(s); s != whittle.NoContentType && (err != nil || !strings.Contains(t, "/")) {
		return "", fmt.Errorf("%s is not a media type: write text/html; charset=utf-8 or application/json", quote(s))
	}
	return s, nil
}
