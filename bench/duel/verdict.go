package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"whittle/bench/server"
	"whittle/internal/table"
)

// verdict is what is read of a comparison's report.
type verdict struct {
	Verdict string   `json:"verdict"`
	Void    string   `json:"void"`
	Pairs   int      `json:"pairs"`
	Figures []figure `json:"figures"`

	took time.Duration // of the try that was not void
}

type figure struct {
	Key       string   `json:"key"`
	Ratio     *float64 `json:"ratio"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	P         *float64 `json:"p"`
	Different bool     `json:"different"`
}

// different names the figures that are called different.
func (v *verdict) different() (keys []string) {
	for i := range v.Figures {
		if v.Figures[i].Different {
			keys = append(keys, v.Figures[i].Key)
		}
	}
	return keys
}

// figure returns a figure with its whole interval.
func (v *verdict) figure(key string) (f figure, ok bool) {
	for _, f := range v.Figures {
		if f.Key == key && f.Ratio != nil && f.Low != nil && f.High != nil {
			return f, true
		}
	}
	return f, false
}

// compare runs one comparison. A void one, in which the generator had not the
// machine that it needed, is tried again and counted; after some tries it is
// given as it is.
func (n *voids) compare(ctx context.Context, s settings, a, b *server.Server, length time.Duration, more ...string) (*verdict, error) {
	args := append([]string{
		"compare", "http://" + a.Addr + "/", "http://" + b.Addr + "/", "--rate", strconv.Itoa(rate), "--duration", length.String(), "--warmup", "1s", "--max-late", late.String(), "--json", "-",
		"--watch-pid-a", strconv.Itoa(a.Pid()), "--watch-pid-b", strconv.Itoa(b.Pid()),
	}, more...)
	const tries = 5
	for try := 1; ; try++ {
		cmd := exec.CommandContext(ctx, s.whittle, args...)
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		began := time.Now()
		err := cmd.Run()
		v := &verdict{took: time.Since(began)}
		if e := json.Unmarshal(out.Bytes(), v); e != nil {
			return nil, fmt.Errorf("compare: %w\n%s", errors.Join(err, e), said.Bytes())
		}
		if v.Void == "" {
			if err != nil {
				return nil, fmt.Errorf("compare: %w\n%s", err, said.Bytes())
			}
			return v, nil
		}
		*n++
		fmt.Printf("void: %s\n", v.Void)
		if try == tries {
			return v, nil
		}
	}
}

// voids counts comparisons that said nothing.
type voids int

// promised is the part of comparisons of equals that may call them different.
const promised = 0.05

// selves compares the server with itself, and counts the figures that are
// called different.
func selves(ctx context.Context, s settings, a *server.Server, r *table.Results) error {
	if s.self == 0 {
		return nil
	}
	const subject = "server with itself"
	called, done, by, low := 0, 0, map[string]int{}, map[string]int{}
	var void voids
	for i := range s.self {
		v, err := void.compare(ctx, s, a, a, short, "--block", block.String())
		if err != nil {
			return err
		}
		if v.Void != "" {
			continue
		}
		done++
		keys := v.different()
		if len(keys) > 0 {
			called++
			for _, k := range keys {
				by[k]++
			}
		}
		for _, f := range v.Figures {
			if f.P != nil {
				r.Add(subject, f.Key+"_p", *f.P, "p")
				if *f.P <= promised {
					low[f.Key]++
				}
			}
		}
		fmt.Printf("%d of %d with itself: %d called different %s\n", i+1, s.self, called, strings.Join(keys, " "))
	}
	r.Conclude(subject, "comparisons", float64(done), "n")
	r.Conclude(subject, "void_runs", float64(void), "n")
	r.Conclude(subject, "called_different", float64(called), "n")
	r.Conclude(subject, "chance_of_as_many_at_5_percent", tail(called, done), "p")
	for _, key := range []string{"median", "p95", "p99", "rate", "cpu", "errors"} {
		r.Conclude(subject, key+"_called_different", float64(by[key]), "n")
		r.Conclude(subject, key+"_interval_without_1", float64(low[key]), "n")
	}
	return nil
}

// tail is the chance of k or more of n where each has that which is promised at
// most.
func tail(k, n int) float64 {
	if k == 0 {
		return 1
	}
	return 1 - distuv.Binomial{N: float64(n), P: promised}.CDF(float64(k-1))
}

// withSlower compares with the server that does more work.
func withSlower(ctx context.Context, s settings, a, b *server.Server, r *table.Results) error {
	if s.found == 0 {
		return nil
	}
	subject := fmt.Sprintf("%.3g %% more work", slower*100.0)
	found := table.Rounds{}
	times, done := 0, 0
	var void voids
	for i := range s.found {
		v, err := void.compare(ctx, s, a, b, long)
		if err != nil {
			return err
		}
		if v.Void != "" {
			continue
		}
		done++
		took := v.took.Seconds()
		f, ok := v.figure("median")
		if !ok {
			return fmt.Errorf("the comparison has no median: %s", v.Verdict)
		}
		if f.Different && *f.Ratio > 1 {
			times++
		}
		found.Add(r.T, subject, "median_ratio", *f.Ratio, "x")
		found.Add(r.T, subject, "median_ratio_low", *f.Low, "x")
		found.Add(r.T, subject, "median_ratio_high", *f.High, "x")
		found.Add(r.T, subject, "took", took, "s")
		fmt.Printf("%d of %d with %s, %.0f s, %d pairs: %s\n", i+1, s.found, subject, took, v.Pairs, v.Verdict)
	}
	r.Conclude(subject, "comparisons", float64(done), "n")
	r.Conclude(subject, "void_runs", float64(void), "n")
	r.Conclude(subject, "median_found_slower", float64(times), "n")
	for _, m := range []string{"median_ratio", "median_ratio_low", "median_ratio_high"} {
		r.Conclude(subject, m+"_median", found.Median(subject, m), "x")
	}
	r.Conclude(subject, "took_median", found.Median(subject, "took"), "s")
	return nil
}
