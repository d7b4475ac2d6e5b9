package cause

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// numberMost bounds the numbers that are looked at, in bytes.
const numberMost = 40

// readRat reads a decimal number as it is written; decimals are those after the
// point.
func readRat(s string) (r *big.Rat, decimals int, ok bool) {
	if len(s) == 0 || len(s) > numberMost || !strings.ContainsAny(s, "0123456789") || strings.ContainsAny(s, "/_xXpPbBoOiInN") {
		return nil, 0, false
	}
	if e := strings.IndexAny(s, "eE"); e >= 0 {
		if n, err := strconv.Atoi(s[e+1:]); err != nil || n > 64 || n < -64 {
			return nil, 0, false
		}
	}
	if r, ok = new(big.Rat).SetString(s); !ok {
		return nil, 0, false
	}
	if point := strings.IndexByte(s, '.'); point >= 0 && !strings.ContainsAny(s, "eE") {
		decimals = len(s) - point - 1
	}
	return r, decimals, true
}

// numberCauses are the causes of two numbers that are not the same.
func numberCauses(a, b string) []string {
	x, dx, okX := readRat(a)
	y, dy, okY := readRat(b)
	if !okX || !okY || x.Cmp(y) == 0 {
		return nil
	}
	keys := binaryCauses(x, y, a, b, dx, dy)
	keys = append(keys, roundingCauses(x, y, dx, dy)...)
	keys = append(keys, scaleCauses(x, y)...)
	return keys
}

var (
	two53   = new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 53))
	oneUnit = big.NewRat(1, 1)
)

// binaryCauses are those of how machines hold numbers.
func binaryCauses(x, y *big.Rat, a, b string, dx, dy int) (keys []string) {
	fx, _ := x.Float64()
	fy, _ := y.Float64()
	if fx == fy {
		switch {
		case digitsIn(b) >= 16 && digitsIn(a) < 15:
			return []string{"float artefact"}
		case digitsIn(a) >= 16 && digitsIn(b) < 15:
			return []string{"no artefact"}
		}
		if x.IsInt() && new(big.Rat).Abs(x).Cmp(two53) > 0 {
			return []string{"double"}
		}
		return []string{"double digits"}
	}
	// A few units in the last place of a double, where one side is a short number.
	const few = 8
	switch single := float64(float32(fx)); {
	case math.Abs(fx-fy) <= few*math.Abs(fx)*0x1p-52 && digitsIn(b) >= 15 && digitsIn(a) < 15:
		keys = append(keys, "float artefact")
	case math.Abs(fx-fy) <= few*math.Abs(fx)*0x1p-52 && digitsIn(a) >= 15 && digitsIn(b) < 15:
		keys = append(keys, "no artefact")
	case math.Abs(fx-fy) <= few*math.Abs(fx)*0x1p-52:
		keys = append(keys, "double digits")
	case single == fy, float32(fx) == float32(fy) && float32(fx) != 0 && digitsIn(b) >= 8 && digitsIn(a) < digitsIn(b),
		strconv.FormatFloat(fx, 'g', -1, 32) == strconv.FormatFloat(fy, 'g', -1, 64):
		keys = append(keys, "float32")
	}
	if x.IsInt() && y.IsInt() {
		keys = append(keys, wrapCauses(x.Num(), y.Num())...)
	}
	return keys
}

func digitsIn(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] == 'e' || s[i] == 'E' {
			break
		}
		if s[i] >= '1' && s[i] <= '9' || s[i] == '0' && n > 0 {
			n++
		}
	}
	return n
}

// wrapCauses are those of integers that are too large for their bits.
func wrapCauses(x, y *big.Int) (keys []string) {
	for _, bits := range []uint{32, 16, 8, 64} {
		modulus := new(big.Int).Lsh(big.NewInt(1), bits)
		half := new(big.Int).Lsh(big.NewInt(1), bits-1)
		signed := y.Cmp(new(big.Int).Neg(half)) >= 0 && y.Cmp(half) < 0
		unsigned := y.Sign() >= 0 && y.Cmp(modulus) < 0
		outside := x.Cmp(half) >= 0 || x.Cmp(new(big.Int).Neg(half)) < 0
		if diff := new(big.Int).Sub(x, y); outside && (signed || unsigned) && new(big.Int).Mod(diff, modulus).Sign() == 0 {
			return append(keys, fmt.Sprintf("wrapped:%d", bits))
		}
		for _, top := range []*big.Int{half, modulus} {
			if largest := new(big.Int).Sub(top, big.NewInt(1)); bits >= 16 && y.Cmp(largest) == 0 && x.Cmp(largest) > 0 {
				return append(keys, fmt.Sprintf("saturated:%d", bits))
			}
		}
	}
	return keys
}

// roundingModes give the whole number that a scaled value becomes. down is its
// floor, rest the remainder above it, 0 to 1.
var roundingModes = []struct {
	name string
	up   func(down *big.Int, rest *big.Rat, negative bool) bool
}{
	{"half up", func(_ *big.Int, rest *big.Rat, negative bool) bool {
		c := rest.Cmp(big.NewRat(1, 2))
		return c > 0 || c == 0 && !negative
	}},
	{"half even", func(down *big.Int, rest *big.Rat, _ bool) bool {
		c := rest.Cmp(big.NewRat(1, 2))
		return c > 0 || c == 0 && down.Bit(0) == 1
	}},
	{"half down", func(_ *big.Int, rest *big.Rat, negative bool) bool {
		c := rest.Cmp(big.NewRat(1, 2))
		return c > 0 || c == 0 && negative
	}},
	{"truncated", func(_ *big.Int, rest *big.Rat, negative bool) bool { return negative && rest.Sign() > 0 }},
	{"down", func(*big.Int, *big.Rat, bool) bool { return false }},
	{"up", func(_ *big.Int, rest *big.Rat, _ bool) bool { return rest.Sign() > 0 }},
}

// roundingCauses are those of decimals: the candidate rounds what the monolith
// does not, the other way round, or both round otherwise.
func roundingCauses(x, y *big.Rat, dx, dy int) (keys []string) {
	switch {
	case dy < dx:
		for d := dy; d <= dy+2 && d < dx; d++ {
			for _, mode := range roundedAs(x, y, d) {
				keys = append(keys, "round:"+mode+":"+strconv.Itoa(d))
			}
		}
	case dx < dy:
		if modes := roundedAs(y, x, dx); slices.Contains(modes, "half up") || slices.Contains(modes, "half even") {
			keys = append(keys, "unrounded:"+strconv.Itoa(dx))
		}
	case dx >= 2:
		unit := new(big.Rat).Quo(oneUnit, tenTo(dx))
		switch diff := new(big.Rat).Sub(y, x); {
		case diff.Cmp(unit) == 0:
			keys = append(keys, fmt.Sprintf("last place:%d:more", dx))
		case diff.Neg(diff).Cmp(unit) == 0:
			keys = append(keys, fmt.Sprintf("last place:%d:less", dx))
		}
	}
	return keys
}

// roundedAs lists the modes in which x at d decimals is y.
func roundedAs(x, y *big.Rat, d int) (modes []string) {
	scaled := new(big.Rat).Mul(x, tenTo(d))
	want := new(big.Rat).Mul(y, tenTo(d))
	if !want.IsInt() {
		return nil
	}
	down := new(big.Int).Div(scaled.Num(), scaled.Denom()) // Euclidean: towards minus infinity
	rest := new(big.Rat).Sub(scaled, new(big.Rat).SetInt(down))
	for _, m := range roundingModes {
		got := new(big.Int).Set(down)
		if m.up(down, rest, x.Sign() < 0) {
			got.Add(got, big.NewInt(1))
		}
		if got.Cmp(want.Num()) == 0 {
			modes = append(modes, m.name)
		}
	}
	return modes
}

func tenTo(d int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d)), nil))
}

// scaleCauses are those of another unit, sign or offset.
func scaleCauses(x, y *big.Rat) (keys []string) {
	if x.Sign() != 0 {
		ratio := new(big.Rat).Quo(y, x)
		inverse := new(big.Rat)
		if y.Sign() != 0 {
			inverse.Inv(ratio)
		}
		if ratio.Cmp(big.NewRat(-1, 1)) == 0 {
			keys = append(keys, "sign")
			if x.Sign() < 0 {
				keys = append(keys, "absolute")
			}
		}
		for _, f := range []int64{10, 100, 1000, 10_000, 1_000_000, 1_000_000_000, 60, 3600, 1024, 1 << 20} {
			factor := big.NewRat(f, 1)
			switch {
			case ratio.Cmp(factor) == 0:
				keys = append(keys, "factor:"+strconv.FormatInt(f, 10))
			case inverse.Cmp(factor) == 0:
				keys = append(keys, "divided:"+strconv.FormatInt(f, 10))
			case x.IsInt() && y.IsInt() && y.Sign() != 0 && new(big.Int).Quo(x.Num(), factor.Num()).Cmp(y.Num()) == 0:
				keys = append(keys, "whole division:"+strconv.FormatInt(f, 10))
			}
		}
	}
	keys = append(keys, epochCauses(x, y)...)
	if diff := new(big.Rat).Sub(y, x); diff.IsInt() && diff.Num().IsInt64() {
		keys = append(keys, fmt.Sprintf("offset:%+d", diff.Num().Int64()))
	} else if s := strings.TrimRight(diff.FloatString(6), "0"); len(s) < 16 && !strings.HasSuffix(s, ".") {
		keys = append(keys, "offset:"+s)
	}
	return keys
}

// epochCauses are those of times as numbers, between 2001 and 2100.
func epochCauses(x, y *big.Rat) (keys []string) {
	fx, _ := x.Float64()
	fy, _ := y.Float64()
	const low, high, thousand = 1e9, 4.1e9, 1e3
	in := func(f, unit float64) bool { return f >= low*unit && f < high*unit }
	near := func(f, g float64) bool { return math.Abs(f-g) < 1 }
	for _, c := range []struct {
		from, to float64
		key      string
	}{{1, thousand, "epoch ms"}, {thousand, 1, "epoch s"}, {thousand, 1e6, "epoch µs"}, {1e6, thousand, "epoch µs ms"}} {
		if small, large := min(fx, fy), max(fx, fy); in(fx, c.from) && in(fy, c.to) && near(large/thousand, small) {
			keys = append(keys, c.key)
		}
	}
	for _, unit := range []float64{1, thousand} {
		if !in(fx, unit) || !in(fy, unit) {
			continue
		}
		if s := (fy - fx) / unit; quarterHours(s) {
			keys = append(keys, fmt.Sprintf("shift:%+d", int(s)))
		}
	}
	return keys
}

// quarterHours reports whether a difference is one that time zones have.
func quarterHours(seconds float64) bool {
	return seconds != 0 && math.Abs(seconds) <= 14*3600 && math.Mod(seconds, 900) == 0
}

// roundingWords says how the candidate rounds, as far as that is known.
func roundingWords(keys []string) string {
	var modes []string
	decimals := ""
	for _, k := range keys {
		parts := strings.Split(k, ":")
		if len(parts) != 3 || decimals != "" && parts[2] != decimals {
			continue
		}
		decimals = parts[2]
		modes = append(modes, parts[1])
	}
	what := "to " + decimals + " decimals"
	if decimals == "0" {
		what = "to whole numbers"
	}
	has := func(m string) bool { return slices.Contains(modes, m) }
	switch {
	case len(modes) == 1 && has("truncated"):
		return "the candidate cuts off " + what + " (towards zero)"
	case has("truncated") && has("down") && !has("half up") && !has("half even") && !has("half down"):
		return "the candidate cuts off " + what
	case len(modes) == 1:
		return "the candidate rounds " + what + ", " + modes[0]
	case len(modes) == 2:
		return "the candidate rounds " + what + ", " + modes[0] + " or " + modes[1]
	}
	return "the candidate rounds " + what
}
