package own

// Bounds of what is held. Simulations: TestRefreshedValuesRaiseNoAlarm
// and TestOwnNotices.
const (
	heldAgo  = 32 // exchanges
	heldMore = 8  // values that may be new since long ago, and not since the last, by chance
	heldWarm = 4  // new values before it can be said that none is held
	// Fades is after how many values all count half, so that a change shows.
	Fades = 1 << 10
)

// Holding tells values that a side holds for a while from values that follow from the request
// or are drawn for each response: of those as many are new since the last exchange as since
// one of long ago, however few different ones there are.
type Holding struct {
	// Of N exchanges so many Newer were not as the last one, and so many Older not as that one
	// which lies as long ago.
	N     int `json:"n,omitempty"`
	Newer int `json:"l,omitempty"`
	Older int `json:"e,omitempty"`
	// Ago are hashes of the values of the last exchanges, and Next is the oldest one.
	Ago  []uint32 `json:"a,omitempty"`
	Next int      `json:"at,omitempty"`
}

// See takes the value of an exchange as a hash.
func (d *Holding) See(value uint32) {
	if n := len(d.Ago); n > 0 {
		d.N++
		if value != d.Ago[(d.Next+n-1)%n] {
			d.Newer++
		}
		if n == heldAgo && value != d.Ago[d.Next] {
			d.Older++
		}
	}
	if len(d.Ago) < heldAgo {
		d.Ago = append(d.Ago, value)
	} else {
		d.Ago[d.Next] = value
		d.Next = (d.Next + 1) % heldAgo
	}
	if d.Older > Fades {
		d.N, d.Newer, d.Older = d.N/2, d.Newer/2, d.Older/2
	}
}

// SeeSame takes a value of so many exchanges.
func (d *Holding) SeeSame(value uint32, n int) {
	for range min(n, heldAgo+1) {
		d.See(value)
	}
}

// Holds reports whether values are held, as far as is known.
func (d *Holding) Holds() bool { return d.Newer < heldWarm || d.Moves() }

// Moves reports whether values are held, and new ones come.
func (d *Holding) Moves() bool { return 3*(d.Newer+heldMore) < 2*d.Older }
