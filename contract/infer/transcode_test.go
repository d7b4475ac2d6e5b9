package infer

import (
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"whittle"
	"whittle/carve/transcode"
	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/verify"
	"whittle/internal/fatal"
	"whittle/record/capture"
)

// TestTheGatewayGivesTheSameResponses holds the gateway's own translation to the
// promise: of the message that a response became, it makes the response again.
func TestTheGatewayGivesTheSameResponses(t *testing.T) {
	seeds, compared := 60, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		log := randomLog(t, r)
		c := learn(t, Options{}, log...)
		k, err := verify.New(c)
		fatal.If(t, err)
		descriptor, by := described(t, c), map[string]*transcode.Transcoder{}
		for _, x := range log {
			path, _, _ := pattern.Target(x.Request.Target)
			m := k.Method(x.Request.Method, path)
			if form := m.HTTP.Response.Form; form != contract.Object && form != contract.Whole {
				continue
			}
			if by[m.Name] == nil {
				by[m.Name] = respondedThrough(t, c, descriptor, m.Method)
			}
			back := throughGateway(t, k, m, by[m.Name], x)
			want, errWant := document.Parse(x.Response.Body)
			got, errGot := document.Parse(back)
			if errWant != nil || errGot != nil || !document.Same(want, got) {
				t.Fatalf("seed %d, %s: %s came back as %s\n%+v\n%s", seed, m.Name, x.Response.Body, back, m.HTTP.Response, c.Proto())
			}
			compared++
		}
	}
	if compared < seeds {
		t.Errorf("only %d responses were compared", compared)
	}
}

// TestTheGatewayTakesWhatWasRecorded: a request that the contract was made of
// loses nothing in it, so that nearly none is left to the monolith. Those that
// are have null for a list of anything, which protojson does not read.
func TestTheGatewayTakesWhatWasRecorded(t *testing.T) {
	const seeds = 200
	taken, left := 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		log := randomLog(t, r)
		c := learn(t, Options{}, log...)
		k, err := verify.New(c)
		fatal.If(t, err)
		descriptor, by := described(t, c), map[string]*transcode.Transcoder{}
		for _, x := range log {
			path, _, _ := pattern.Target(x.Request.Target)
			m := k.Method(x.Request.Method, path)
			if m.HTTP.Body.Form == contract.Text {
				continue // a text that is declared as JSON is the monolith's
			}
			if by[m.Name] == nil {
				by[m.Name] = askedThrough(t, c, descriptor, m.Method)
			}
			_, err := by[m.Name].Request(&x.Request)
			switch {
			case err == nil:
				taken++
			case strings.Contains(err.Error(), "unexpected token null"):
				left++
			default:
				t.Fatalf("seed %d, %s: %s %s %s: %v\n%+v\n%s", seed, m.Name, x.Request.Method, x.Request.Target, x.Request.Body, err, m.HTTP, c.Proto())
			}
		}
	}
	t.Logf("%d requests taken, %d left to the monolith", taken, left)
	if taken < 10*seeds || left > taken/100 {
		t.Errorf("%d requests taken, %d left to the monolith", taken, left)
	}
}

// described is a contract's descriptor as whittle new writes it.
func described(t *testing.T, c *contract.Contract) []byte {
	t.Helper()
	set, err := c.Descriptor()
	fatal.If(t, err)
	descriptor, err := proto.Marshal(set)
	fatal.If(t, err)
	return descriptor
}

// askedThrough is the gateway's translation of a method's requests, as whittle
// new writes it.
func askedThrough(t *testing.T, c *contract.Contract, descriptor []byte, m *contract.Method) *transcode.Transcoder {
	t.Helper()
	rpc := whittle.RPC{
		Protocol: whittle.Twirp, Descriptor: descriptor, Method: c.Package + "." + c.Service + "/" + m.Name, Words: wordsOf(c),
		Lossless: true, AskedNulls: m.HTTP.Body.Unset.Nulls, AskedAbsent: m.HTTP.Body.Unset.Omits,
	}
	switch m.HTTP.Body.Form {
	case contract.Whole, contract.Text:
		rpc.Body = m.HTTP.Body.Field
	case contract.Form:
		rpc.Content = whittle.BodyForm
	}
	named := func(ps []contract.Parameter) map[string]string {
		out := map[string]string{}
		for _, p := range ps {
			out[p.Name] = p.Field
		}
		return out
	}
	rpc.Query, rpc.Path, rpc.Form = named(m.HTTP.Query), named(m.HTTP.Path), named(m.HTTP.Body.Pairs)
	tr, err := transcode.New(rpc, transcode.Pattern(m.HTTP.Pattern))
	if err != nil {
		t.Fatalf("%v\n%+v\n%s", err, m.HTTP, c.Proto())
	}
	return tr
}

// wordsOf are a contract's words as whittle new writes them for the gateway.
func wordsOf(c *contract.Contract) map[string]string {
	out := map[string]string{}
	for _, e := range c.Enums {
		for _, v := range e.Values {
			if v.JSON != "" {
				out[v.Name] = v.JSON
			}
		}
	}
	return out
}

// respondedThrough is that of a method's responses.
func respondedThrough(t *testing.T, c *contract.Contract, descriptor []byte, m *contract.Method) *transcode.Transcoder {
	t.Helper()
	a := m.HTTP.Response
	tr, err := transcode.New(whittle.RPC{
		Protocol: whittle.Twirp, Descriptor: descriptor, Method: c.Package + "." + c.Service + "/" + m.Name,
		Response: a.Field, Nulls: a.Unset.Nulls, Absent: a.Unset.Omits, ContentType: a.ContentType, Status: a.Status, Words: wordsOf(c),
	})
	if err != nil {
		t.Fatalf("%v\n%+v\n%s", err, a, c.Proto())
	}
	return tr
}

func throughGateway(t *testing.T, k *verify.Checker, m *verify.Checked, tr *transcode.Transcoder, x *capture.Entry) []byte {
	t.Helper()
	v, err := document.Parse(x.Response.Body)
	fatal.If(t, err)
	msg, err := k.Message(m, v)
	fatal.If(t, err)
	b, err := proto.Marshal(msg.Interface())
	fatal.If(t, err)
	out := tr.Response(&whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/protobuf"}}, Body: b})
	if out.Failure != whittle.NoFailure {
		t.Fatalf("%s: %s", out.Failure, out.Detail)
	}
	return out.Body
}
