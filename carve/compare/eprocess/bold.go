package eprocess

// Bold is a test by betting (see Bets) for evidence that comes rarely and says
// much: most of the wealth is staked almost whole, so that a few payoffs decide,
// and the rest in smaller parts, so that a few losses do not end the test.
//
// Hypothesis: given the past, each e-value has expectation at most 1. Then
// 1 + λ(e − 1) has too, for any λ in [0, 1], and so has their mixture; the wealth
// reaches 1/alpha with a chance of at most alpha (Ville's inequality). Source:
// Vovk and Wang 2021, E-values: calibration, combination and applications,
// arXiv 1912.06116.
type Bold struct {
	Wealth [len(boldStakes)]float64 `json:"wealth"`
	Rounds int                      `json:"rounds"`
	Passed
}

// boldStakes are the parts that are staked, boldParts the first wealth of each.
var (
	boldStakes = [...]float64{0.999, 0.6, 0.2, 0.05}
	boldParts  = [...]float64{0.7, 0.1, 0.1, 0.1}
)

// NewBold is a wealth of 1 before the first e-value.
func NewBold() Bold { return Bold{Wealth: boldParts, Passed: Passed{Peak: 1}} }

// See settles one e-value at exchange n against the level alpha.
func (b *Bold) See(e, alpha float64, n int) {
	b.Rounds++
	for i, l := range boldStakes {
		b.Wealth[i] = bounded(b.Wealth[i] * (1 + l*(e-1)))
	}
	b.Pass(b.Now(), alpha, n)
}

// Now is the wealth.
func (b *Bold) Now() float64 {
	sum := 0.0
	for _, w := range b.Wealth {
		sum += w
	}
	return sum
}

// Void takes back what was won, as Bets.Void does.
func (b *Bold) Void() {
	if now := b.Now(); now > 1 {
		for i := range b.Wealth {
			b.Wealth[i] /= now
		}
	}
	b.Passed = Passed{Peak: 1}
}
