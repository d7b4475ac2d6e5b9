package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"whittle"
)

// clients reads what each client may take.
func (r *reader) clients(o *object, f *File) {
	f.Clients = whittle.Clients{By: whittle.Sticky{By: "address"}, Connections: max(1, f.Limits.Connections*3/4), Requests: 16_384}
	c, ok := o.child("clients", "{by: address, rate: 100/s}")
	if !ok {
		return
	}
	read(c, "by", "header:NAME, cookie:NAME or address", &f.Clients.By, parseSticky)
	for _, bound := range []struct {
		key string
		dst *int
	}{{"connections", &f.Clients.Connections}, {"requests", &f.Clients.Requests}} {
		read(c, bound.key, "a count, or off", bound.dst, orOff(func(s string) (int, error) { return parseCount(s, 1, maxNum) }))
	}
	r.rate(c, &f.Clients.Rate)
	c.done()
}

// rate reads "100/s", or a mapping with it.
func (r *reader) rate(o *object, rate *whittle.Rate) {
	n, ok := o.get("rate")
	if !ok {
		return
	}
	const want = "a rate such as 100/s or 30/m, or {limit: 100/s, burst: 200, dry_run: true}"
	if n.kind != isMapping {
		readNode(r, n, o.sub("rate"), want, rate, parseRate)
		return
	}
	m, _ := r.object(n, o.sub("rate"), want)
	m.need(read(m, "limit", "a rate such as 100/s or 30/m", rate, parseRate), "limit", "write limit: 100/s")
	m.count("burst", &rate.Burst, 1, maxNum)
	m.flag("dry_run", &rate.DryRun)
	m.done()
}

// parseRate reads a rate. Its burst is what one unit of time allows.
func parseRate(s string) (whittle.Rate, error) {
	number, unit, _ := strings.Cut(s, "/")
	seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.Atoi(number)
	if plain, bad := strconv.Atoi(strings.TrimSuffix(number, "r")); bad == nil && plain > 0 && (seconds != 0 && err != nil || seconds == 0 && unit == "") { // 10r/s is nginx's
		return whittle.Rate{}, fmt.Errorf("%s is not a rate: write %d/%s", quote(s), plain, cmp.Or(unit, "s"))
	}
	if err != nil || seconds == 0 || n < 1 || n > maxNum {
		return whittle.Rate{}, fmt.Errorf("%s is not a rate: write a number of requests from 1 to %d and a time, such as 100/s, 30/m or 500/h", quote(s), maxNum)
	}
	return whittle.Rate{PerSecond: float64(n) / seconds, Burst: n}, nil
}

// describeClients says what each client may take.
func describeClients(c *whittle.Clients) string {
	b := new(strings.Builder)
	by := c.By.By
	if c.By.Name != "" {
		by += " " + c.By.Name
	}
	fmt.Fprintf(b, "by %s, each", by)
	if c.Connections > 0 {
		fmt.Fprintf(b, " %d connections of one address,", c.Connections)
	}
	if c.Requests > 0 {
		fmt.Fprintf(b, " %d requests under way,", c.Requests)
	}
	return b.String() + " " + describeRate(&c.Rate)
}

func describeRate(r *whittle.Rate) string {
	if r.PerSecond == 0 {
		return "at any rate"
	}
	number, unit := r.PerSecond, "second"
	if number < 1 {
		number, unit = 60*number, "minute"
	}
	if number < 1 {
		number, unit = 60*number, "hour"
	}
	text := fmt.Sprintf("at most %s a %s and %d at once", strconv.FormatFloat(number, 'g', 4, 64), unit, r.Burst)
	if r.DryRun {
		text += ", only counted"
	}
	return text
}
