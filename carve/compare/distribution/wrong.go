package distribution

import (
	"math"

	"whittle/carve/compare/eprocess"
)

// The bounds on outliers. Held by TestIdenticalServicesRaiseNoFalseAlarm, in worlds with heavy tails,
// and by TestEachPublishedFlawIsNamed.
const (
	// A value is an outlier when it lies so many spreads from the centre...
	outlierSpreads = 8
	// ...this much further than any response of the monolith at that size...
	outlierBeyond = 2
	// ...and by this part of the centre itself.
	outlierRelative = 0.1
	// fewOutlier is the least number of wrong values in one size of request that is a fault of that size.
	fewOutlier = 3
)

// wrongTally counts the outliers at one size of request.
type wrongTally struct {
	N int `json:"n"`
	X int `json:"x"` // the monolith's
	Y int `json:"y"` // the candidate's
	// Passed is how far the evidence against the pool came.
	eprocess.Passed
}

// outlier reports whether the monolith would not give a value of a pair, judged by its past alone.
func (t *stratum) outlier(p *pair, v float64) bool {
	bar := outlierSpreads * (1 + 2*enough/float64(max(enough, t.X.N)))
	return math.Abs(v-p.centre) > outlierRelative*math.Abs(p.centre) && math.Abs(p.z(v)) > max(bar, outlierBeyond*t.Far)
}

// wrongEprocess watches for responses that the monolith would never give, by two tests that share its
// part of the error rate.
//
// The first needs nothing but exchangeable pairs. Its payoff is 1[y is an outlier] − 1[x is one].
//
// The second finds a seldom fault in one size of request only. Its hypothesis is what `per` promises:
// the chance p of an outlier is the same for the monolith at all sizes and for the candidate at this
// one. Universal inference tests it (Wasserman, Ramdas, Balakrishnan 2020, arXiv 1912.11436): the
// likelihood averaged over two chances, over the largest that any common p has. Since a distribution
// could itself be an outlier at one size, the candidate must also go wrong there in every exchange, at
// least fewOutlier times, and the monolith never. If `per` does not hold its promise, even the worst
// distribution does that in at most one of 4^fewOutlier sizes.
type wrongEprocess struct {
	Bets eprocess.Bets `json:"bets"`
	N    int           `json:"n"` // responses of the monolith
	X    int           `json:"x"` // outliers among them
	Y    int           `json:"y"` // outliers of the candidate
}

// see settles one exchange. place is the stratum's place in the order of first exchanges, from 0, and
// alpha the e-process's part.
func (w *wrongEprocess) see(t *stratum, place int, xOutlier, yOutlier bool, alpha float64, n int) {
	x, y := eprocess.Indicator(xOutlier), eprocess.Indicator(yOutlier)
	w.N, w.X, w.Y = w.N+1, w.X+int(x), w.Y+int(y)
	t.Wrong.N, t.Wrong.X, t.Wrong.Y = t.Wrong.N+1, t.Wrong.X+int(x), t.Wrong.Y+int(y)
	w.Bets.Bet(y-x, alpha/2, n)
	if yOutlier {
		w.weigh(t, place, alpha/2, n)
	}
}

func (w *wrongEprocess) weigh(t *stratum, place int, alpha float64, n int) {
	k := &t.Wrong
	if k.X > 0 || k.Y < fewOutlier || k.Y < k.N {
		return
	}
	// The candidate's chance is likely near 1, the monolith's near 0.
	logE := eprocess.LogChance(k.Y, k.N, 1, 0.5) + eprocess.LogChance(w.X, w.N, 0.1, 1) -
		logLargest(w.X+k.Y, w.N+k.N)
	k.Pass(eprocess.AsNumber(logE), eprocess.OfNth(alpha, place+1), n)
}

// logLargest is the largest log-likelihood of k events in n rounds.
func logLargest(k, n int) float64 {
	if k == 0 || k == n {
		return 0
	}
	p := float64(k) / float64(n)
	return float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p)
}

// decidedAt is the exchange at which a fault was shown at this size; 0: not.
func (w *wrongEprocess) decidedAt(t *stratum) int {
	if t.Wrong.Y == 0 {
		return 0
	}
	return earlier(w.Bets.At, t.Wrong.At)
}
