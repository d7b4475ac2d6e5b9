package fault

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"whittle"
	"whittle/bench/proof/family"
)

// strangers are faults of the kinds that nobody thinks of when a comparison is built:
// of a tenant, a page, a length, a minute, a locale or a library's habits.
func strangers() []*Mutation {
	return []*Mutation{
		{Name: "cut-at-512", Does: "no more than 512 bytes", Fits: notRandom(every), Do: cutAt(512)},
		{Name: "long-wrong", Does: "a value is wrong in bodies of more than 400 bytes, in 1 of 10", Fits: notRandom(every), When: in(10), Do: longerThan(400)},
		{Name: "second-page", Does: "wrong on the second page", Fits: named("items"), When: secondPage, Do: tamper},
		{Name: "precision-rare", Does: "amounts to one place in 1 of 100", Fits: has(family.Money), When: in(100), Do: value(family.Money, toTenths)},
		{Name: "tenant-header", Does: "a header is gone for one user in forty", Fits: has(family.Header), When: ofTenant, Do: value(family.Header, func(*Candidate, any) any { return removed{} })},
		{Name: "members-swapped", Does: "two members of one type are mixed up in 1 of 50", Fits: isJSON, When: in(50), Do: swapMembers},
		{Name: "stale-10s", Does: "the state of ten seconds ago", Fits: every, Do: ago(10 * time.Second)},
		{Name: "ascii", Does: "a question mark for each letter beyond ASCII", Fits: has(family.Text), Do: value(family.Text, words(asciiOnly))},
		{Name: "text-empty", Does: "an empty text in 1 of 150", Fits: has(family.Text), When: in(150), Do: value(family.Text, words(func(string) string { return "" }))},
		{Name: "key-case", Does: "a member's name in capitals in 1 of 100", Fits: isJSON, When: in(100), Do: renameMember},
		{Name: "decimal-comma", Does: "12,30 for 12.30 in 1 of 100", Fits: named("terms", "export"), When: in(100), Do: decimalComma},
		{Name: "cookie-path", Does: "a cookie without its path", Fits: has(family.Cookie), Do: cookie("; Path=/", "")},
		{Name: "header-twice", Does: "a header of the endpoint's comes twice in 1 of 50", Fits: has(family.Header), When: in(50), Do: headerTwice},
		{Name: "wrong-minutely", Does: "wrong in the first three seconds of every minute", Fits: notRandom(every), When: func(_ *Candidate, c *Call) bool { return c.Up%time.Minute < 3*time.Second && c.Up > 30*time.Second }, Do: tamper},
		{Name: "wrong-bursts", Does: "wrong for ten seconds in every five minutes", Fits: notRandom(every), When: func(_ *Candidate, c *Call) bool { return c.Up%(5*time.Minute) > 290*time.Second }, Do: tamper},
	}
}

func cutAt(most int) func(*Candidate, *Call, *whittle.Response) bool {
	return func(_ *Candidate, _ *Call, a *whittle.Response) bool {
		if len(a.Body) <= most {
			return false
		}
		a.Body = a.Body[:most]
		return true
	}
}

func longerThan(least int) func(*Candidate, *Call, *whittle.Response) bool {
	return func(c *Candidate, call *Call, a *whittle.Response) bool {
		return len(a.Body) > least && tamper(c, call, a)
	}
}

func secondPage(_ *Candidate, call *Call) bool {
	return strings.Contains(call.Request.Target, "page=2&")
}

// toTenths writes an amount with one place behind the point.
func toTenths(_ *Candidate, old any) any {
	x, digits, ok := amountOf(old)
	if !ok || digits < 2 {
		return old
	}
	return json.Number(fmt.Sprintf("%.1f", x))
}

func asciiOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}

// swapMembers exchanges the values of the first two members, by name, that have one
// type and are not alike.
func swapMembers(_ *Candidate, _ *Call, a *whittle.Response) bool {
	return editBody(a, func(doc any) bool {
		o, _ := doc.(map[string]any)
		names := sortedNames(o)
		for i, x := range names {
			for _, y := range names[i+1:] {
				if scalar(o[x]) && fmt.Sprintf("%T", o[x]) == fmt.Sprintf("%T", o[y]) && !equal(o[x], o[y]) {
					o[x], o[y] = o[y], o[x]
					return true
				}
			}
		}
		return false
	})
}

func scalar(v any) bool {
	switch v.(type) {
	case string, json.Number:
		return true
	}
	return false
}

// renameMember writes the first member's name in capitals.
func renameMember(_ *Candidate, _ *Call, a *whittle.Response) bool {
	return editBody(a, func(doc any) bool {
		o, _ := doc.(map[string]any)
		for _, name := range sortedNames(o) {
			o[strings.ToUpper(name)] = o[name]
			delete(o, name)
			return true
		}
		return false
	})
}

func sortedNames(o map[string]any) []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func decimalComma(_ *Candidate, call *Call, a *whittle.Response) bool {
	place, ok := call.Family.Has(family.Money)
	return ok && edit(a, place, func(old any) any {
		if n, is := old.(json.Number); is {
			return strings.Replace(n.String(), ".", ",", 1)
		}
		return old
	})
}

func headerTwice(_ *Candidate, call *Call, a *whittle.Response) bool {
	place, _ := call.Family.Has(family.Header)
	lines := a.Header[place.Path]
	if len(lines) == 0 {
		return false
	}
	a.Header[place.Path] = append(slices.Clone(lines), lines[0])
	return true
}
