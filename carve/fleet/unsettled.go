package fleet

import "time"

// Unsettled are messages of which nobody has said whether the store has them. They are sent
// again under their own names, of which a store keeps each once for as long as it remembers
// them. It is for one goroutine.
type Unsettled struct {
	// Remembered is how long the store knows a name, Bytes how much is kept here.
	Remembered time.Duration
	Bytes      int
	// GivenUp counts the messages that stay unsettled.
	GivenUp int
	list    []Sending
	bytes   int
}

// Sending is a message on its way to the store, and when it was sent first.
type Sending struct {
	Route, ID string
	Message   []byte
	First     Instant
}

// Add keeps a message that is to be sent again, behind the others. Where there is no room
// it is given up.
func (u *Unsettled) Add(s Sending) {
	if u.bytes+len(s.Message) > u.Bytes {
		u.GivenUp++
		return
	}
	u.list, u.bytes = append(u.list, s), u.bytes+len(s.Message)
}

// Next takes out the message that is to be sent now. One whose name the store may have
// forgotten is given up: it would be stored twice. False: there is none.
func (u *Unsettled) Next(now Instant) (s Sending, ok bool) {
	for len(u.list) > 0 {
		s = u.list[0]
		u.list[0] = Sending{}
		u.list, u.bytes = u.list[1:], u.bytes-len(s.Message)
		if now.since(s.First) < u.Remembered {
			return s, true
		}
		u.GivenUp++
	}
	return Sending{}, false
}
