package source

import (
	"fmt"
	"slices"
	"strings"

	"whittle/cmdline"
	"whittle/contract"
	"whittle/contract/infer/verify"
	"whittle/contract/scaffold"
)

// SayMade says which files there are now.
func SayMade(screen *cmdline.Screen, p *scaffold.Project) {
	screen.Say("%s written, %d as they were; its tests hold %s", contract.Count(len(p.Written), "file"), len(p.Same), contract.Count(p.Exchanges, "recorded exchange"))
	for i := range p.Coverage {
		if i == 10 {
			screen.Say("and %d more methods: CONTRACT.md says how much of each is asked again", len(p.Coverage)-i)
			break
		}
		one := &p.Coverage[i]
		screen.Say("%s: its tests ask %s, the load plan %d", one.Method, one.Tests, one.Plan.Covered)
	}
	if p.Frozen {
		screen.Say("the .proto file was changed by hand: it is yours, and what is generated from it was left as it is")
	}
	for i, path := range p.Kept {
		if i == 10 {
			screen.Say("and %d more", len(p.Kept)-i)
			break
		}
		screen.Say("kept %s, which was changed by hand", path)
	}
}

// Say lists what was inferred: each guess with its evidence.
func Say(screen *cmdline.Screen, c *contract.Contract, source *Source) {
	screen.Heading("%s, made of %s", c.FullService(), source.Words())
	for _, g := range c.Guesses {
		sayGuess(screen, g)
	}
	for i := range c.Methods {
		m := &c.Methods[i]
		screen.Say("")
		seen := "from a document"
		if m.Seen > 0 {
			seen = contract.Count(m.Seen, "exchange")
		}
		screen.Say("%s %s  (%s)", screen.Bold(m.Name), m.Endpoint(), seen)
		for _, f := range m.Failures {
			said := "passed on word for word"
			if f.Count > 0 { // those of a document were not counted
				said = contract.Count(f.Count, "time") + ", " + said
			}
			screen.Say("  %s: %s", strings.TrimSpace(fmt.Sprint(f.Status, " ", f.ContentType)), said)
		}
		for _, g := range m.Guesses {
			sayGuess(screen, g)
		}
	}
	sayProof(screen, source.proof)
	for _, route := range lookAlike(c) {
		screen.Say("several endpoints differ in one word and respond alike: if it is a value, name them as one: --route '%s'", route)
	}
	for _, d := range source.damage() {
		screen.Say("left out: %s", d)
	}
}

// sayProof says whether the exchanges come back the same from the contract's
// messages, and where they do not.
func sayProof(screen *cmdline.Screen, p *verify.Proof) {
	if p == nil {
		return
	}
	screen.Say("")
	screen.Say("%d of %s that succeeded come back the same from the messages", p.Kept, contract.Count(p.Exchanges, "exchange"))
	for i, b := range p.Broken {
		if i == 10 {
			screen.Say("  and %d more places", len(p.Broken)-i)
			break
		}
		screen.Say("  %s %s: %s (%s)", b.Method, b.Path, b.Why, contract.Count(b.Count, "time"))
	}
}

// lookAlike gives routes under which three or more endpoints fall that differ
// in one literal only and respond with the same fields.
func lookAlike(c *contract.Contract) []string {
	count := map[[2]string]int{}
	for i := range c.Methods {
		m := &c.Methods[i]
		looks := responseLooks(c, m)
		segments, name := strings.Split(m.HTTP.Pattern, "/"), "{name}"
		if slices.Contains(segments, name) {
			name = "{value}"
		}
		for j := 2; j < len(segments); j++ {
			if s := segments[j]; s != "" && !strings.HasPrefix(s, "{") {
				segments[j] = name
				count[[2]string{m.HTTP.Method + " " + strings.Join(segments, "/"), looks}]++
				segments[j] = s
			}
		}
	}
	var out []string
	for k, n := range count {
		if n >= 3 && !slices.Contains(out, k[0]) {
			out = append(out, k[0])
		}
	}
	slices.Sort(out)
	return out
}

// responseLooks is the same for methods that respond with the same fields.
func responseLooks(c *contract.Contract, m *contract.Method) string {
	looks := fmt.Sprint(m.HTTP.Response.Status, m.HTTP.Response.Form)
	if output := c.Message(m.Output); output != nil && m.HTTP.Response.Form != contract.Text {
		for _, f := range output.Fields {
			looks += fmt.Sprintf(" %s %s %t %t", f.JSONName(), f.Type, f.Repeated, f.Map)
		}
	}
	return looks
}

func sayGuess(screen *cmdline.Screen, g contract.Guess) {
	against := ""
	if g.Against != "" {
		against = ", not " + g.Against
	}
	screen.Say("  %s: %s%s: %s", g.Path, g.Chosen, against, g.Evidence)
}
