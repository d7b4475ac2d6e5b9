package kinesis

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"whittle"
)

// TestHashIsKinesisOwn uses the example that Amazon's guide to resharding
// implies (MD5 of the key as a 128-bit number), taken by another program:
// python3 -c 'import hashlib; print(int(hashlib.md5(b"KEY").hexdigest(), 16))'
func TestHashIsKinesisOwn(t *testing.T) {
	for key, want := range map[string]string{
		"":      "281949768489412648962353822266799178366",
		"user1": "48900430532020830442050270794663993245",
		"a":     "16955237001963240173058271559858726497",
	} {
		if got := hashOf(key).String(); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
		back, err := parseHash(want)
		if err != nil || back != hashOf(key) {
			t.Errorf("%s reads back as %v, %v", want, back, err)
		}
	}
	for _, bad := range []string{"", "-1", "x", "340282366920938463463374607431768211456"} {
		if h, err := parseHash(bad); err == nil {
			t.Errorf("%q was taken as %v", bad, h)
		}
	}
}

func TestFindGivesTheShardOfAHash(t *testing.T) {
	for n := 1; n < 9; n++ {
		m := newShardMap(nil, evenly(n, 0))
		for i := range 200 {
			h := hashOf(fmt.Sprint(i))
			if s := m.find(h); !s.span.has(h) {
				t.Fatalf("%d shards: %v is not in %s", n, h, s.id)
			}
		}
	}
}

func TestOffsetsGrowAndSplit(t *testing.T) {
	long := "49590338271490256608559692538361571095921575989136588898"
	sorted := []string{"", offset("9", 0), offset("10", 0), offset(long, 0), offset(long, 1), offset(long, maxIndex)}
	for i, off := range sorted {
		if i > 0 && (!below(sorted[i-1], off) || below(off, sorted[i-1]) || below(off, off)) {
			t.Errorf("%q and %q are not in order", sorted[i-1], off)
		}
		seq, place, err := splitOffset(off)
		if err != nil || off != "" && offset(seq, place) != off {
			t.Errorf("%q splits into %q and %d, %v", off, seq, place, err)
		}
	}
	for _, bad := range []string{"1", "000001", "12345x1", "-1000000", string(bytes.Repeat([]byte("1"), 200))} {
		if _, _, err := splitOffset(bad); err == nil {
			t.Errorf("%q was taken for an offset", bad)
		}
	}
}

func TestAggregateComesApartAsItWas(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		records := make([]userRecord, 1+random.IntN(20))
		bound := aggregateFrame
		for i := range records {
			data := make([]byte, random.IntN(300))
			for j := range data {
				data[j] = byte(random.Uint32())
			}
			records[i] = userRecord{partitionKey: fmt.Sprint("key", random.IntN(5)), data: data}
			bound += aggregateCost(records[i].partitionKey, data)
		}
		out := aggregate(records)
		if len(out) > bound {
			t.Fatalf("%d bytes, the bound was %d", len(out), bound)
		}
		back, err := deaggregate(out)
		if err != nil {
			t.Fatal(err)
		}
		for i := range back {
			if back[i].partitionKey != records[i].partitionKey || !bytes.Equal(back[i].data, records[i].data) {
				t.Fatalf("record %d: %+v, want %+v", i, back[i], records[i])
			}
		}
		out[random.IntN(len(out))] ^= 1 << random.IntN(8)
		if isAggregated(out) {
			t.Fatal("a flipped bit was not seen")
		}
	}
}

// TestKPLRecordIsRead takes a record apart that was written by hand after the
// format's description, with explicit hash keys and tags, which are not used here.
func TestKPLRecordIsRead(t *testing.T) {
	body := "0a026b31" + "0a026b32" + "12023432" + // keys k1, k2; hash key 42
		"1a0a" + "0800" + "1a0161" + "2203" + "0a0174" + // record 0: key 0, "a", tag t
		"1a07" + "0801" + "1000" + "1a0162" // record 1: key 1, hash 0, "b"
	raw, err := hex.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	sum := md5Of(raw)
	got, err := deaggregate(append(append(bytes.Clone(magic), raw...), sum...))
	want := []userRecord{{partitionKey: "k1", data: []byte("a")}, {partitionKey: "k2", hash: "42", data: []byte("b")}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func FuzzDeaggregate(f *testing.F) {
	f.Add([]byte{})
	whole := aggregate([]userRecord{{partitionKey: "k", data: []byte("v")}, {partitionKey: "l", data: nil}})
	f.Add(whole[len(magic) : len(whole)-16])
	f.Fuzz(func(t *testing.T, body []byte) {
		data := append(append(bytes.Clone(magic), body...), md5Of(body)...)
		records, err := deaggregate(data)
		if err != nil {
			return
		}
		total := 0
		for _, r := range records {
			total += len(r.data)
		}
		if total > len(body) {
			t.Fatalf("%d bytes out of %d", total, len(body))
		}
	})
}

func TestOutageLetsSomeThrough(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var o outage
	down := outcome{disposition: refused, cause: whittle.Errorf(whittle.Unavailable, "refused")}
	for range outageAfter {
		if o.err(now) != nil {
			t.Fatal("an outage too soon")
		}
		o.add(down, now)
	}
	if whittle.CodeOf(o.err(now)) != whittle.Unavailable || o.err(now) == nil {
		t.Fatal("no outage")
	}
	if err := o.err(now.Add(outagePause + 1)); err != nil {
		t.Fatal("nothing is let through, so nobody will see its end:", err)
	}
	var throttled outage
	for range 10 {
		throttled.add(outcome{disposition: refused, cause: whittle.Errorf(whittle.ResourceExhausted, "slow down")}, now)
	}
	if throttled.err(now) != nil {
		t.Fatal("throttling is no outage")
	}
}

func md5Of(b []byte) []byte {
	sum := md5.Sum(b)
	return sum[:]
}
