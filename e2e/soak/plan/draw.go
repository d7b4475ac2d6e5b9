package plan

import (
	"math/rand/v2"
	"net/http"
)

// Client is what a kind of client can ask.
type Client struct {
	// Ways that it can, each as often as it stands here.
	Ways []Way
	// Largest bounds bodies, in bytes.
	Largest int
}

// Routes of the gateways. Those of the second list do not take writes a second time.
var (
	Routes = []string{"", "shadow", "shift", "live", "strict"}
	Writes = []string{"", "once"}
)

// stormEvery and stormLength: in so many numbers of every so many the candidates fail
// at every second request.
const (
	stormEvery  = 100_000
	stormLength = 4_000
)

// Draw makes the plan of a number.
func Draw(seed, number uint64, c *Client) *Plan {
	r := random(seed, number)
	p := &Plan{Number: number, Seed: seed, Way: c.Ways[r.IntN(len(c.Ways))], Status: http.StatusOK}
	p.Route = Routes[r.IntN(len(Routes))]
	switch p.Way {
	case Events:
		p.Length, p.Framing = 1+r.IntN(12), ByChunks
	case Post, Chunked, Expect:
		p.Upload = 1 + size(r, c.Largest)
		if p.Once = one(r, 2); p.Once {
			p.Route = Writes[r.IntN(len(Writes))]
		}
		p.draw(r, c)
	default:
		p.draw(r, c)
	}
	p.faults(r)
	return p
}

// draw makes a plain response.
func (p *Plan) draw(r *rand.Rand, c *Client) {
	p.Length = size(r, c.Largest)
	switch r.IntN(40) {
	case 0, 1:
		p.Status, p.Length = http.StatusNoContent, 0
	case 2, 3:
		if p.Repeatable() {
			p.Status, p.Length = http.StatusNotModified, 0
		}
	case 4:
		p.Status = http.StatusNotFound
	case 5:
		p.Status = http.StatusInternalServerError
	case 6:
		p.Framing, p.Trailer = ByChunks, p.Way != Head
	case 7, 8, 9, 10:
		p.Framing = ByChunks
	case 11:
		if p.Way != Head {
			p.Framing = ByClose
		}
	}
	if p.Bodiless() {
		p.Framing, p.Trailer = ByLength, false
	}
}

func (p *Plan) faults(r *rand.Rand) {
	if p.Way == Events {
		// Half of an event stream cannot be taken back, so the candidate has none either.
		if one(r, 20) {
			p.Fault = []Fault{ResetBefore, ResetBody, CloseBody, Sliced}[r.IntN(4)]
		}
		return
	}
	p.Fault = drawFault(r, p, 12)
	in := 30
	if p.Number%stormEvery < stormLength {
		in = 2
	}
	switch p.Candidate = drawFault(r, p, in); {
	case p.Once:
		// Its candidate is asked once: what it does to the request is what direct
		// access gets there.
		p.Candidate = p.Fault
	case p.Length > held && (p.Candidate == ResetBody || p.Candidate == CloseBody || p.Candidate == BadChunk):
		p.Candidate = None // it streams by then, and its user sees it break
	}
}

// held is what the gateway holds of a candidate's response, in bytes (mirror.max_body).
const held = 200 << 10

// size draws a body's length: mostly short, seldom long, once in ten thousand the
// longest.
func size(r *rand.Rand, largest int) int {
	var n int
	switch k := r.IntN(10_000); {
	case k == 0:
		n = largest
	case k < 20:
		n = 64<<10 + r.IntN(1<<20)
	case k < 500:
		n = r.IntN(64 << 10)
	case k < 600:
	default:
		n = r.IntN(1500)
	}
	return min(n, largest)
}
