package http1

// Requests follows what a client sends on a connection: a head, its body, the next head, in
// whatever pieces they arrive. Set the limits of Head and Body before the first Next.
type Requests struct {
	Head RequestHead
	Body Body
	// part is the beginning of a head or a trailer section that has not come whole.
	part []byte
}

// Part is what has come of a head or a trailer section that is not whole.
func (r *Requests) Part() []byte { return r.part }

// Keep takes bytes as a part of a head, and does not look at them until the next ones come.
func (r *Requests) Keep(in []byte) { r.part = append(r.part, in...) }

// Next takes the next bytes, and gives how many of them belong to the present head or body;
// call it again with the rest. head says that a head is whole: it is valid until Forget, and
// its body comes next. With an error, n is what came before the line or the byte that is
// refused, which is never a whole head.
func (r *Requests) Next(in []byte) (n int, head bool, err error) {
	b := in
	if len(r.part) > 0 {
		r.part = append(r.part, in...)
		b = r.part
	}
	before := len(b) - len(in)
	var whole bool
	if r.Body.Done() {
		n, err = r.Head.Parse(b)
		if head = n > 0; head {
			r.Body.Begin(r.Head.Framing())
		}
		if whole = head; err != nil {
			n = r.Head.Stopped()
		}
	} else {
		n, err = r.body(b)
		whole = r.Body.Done() || n == len(b)
	}
	switch {
	case err != nil:
	case whole:
		r.part = nil
	default: // the rest is a part
		if before == 0 {
			r.part = append(r.part, b[n:]...)
		}
		n = len(b)
	}
	return max(0, n-before), head, err
}

// body gives how many bytes of in belong to the present body; the rest is a part of its
// trailer section, if the body has not ended.
func (r *Requests) body(in []byte) (n int, err error) {
	for n < len(in) && !r.Body.Done() {
		_, used, err := r.Body.Next(in[n:])
		n += used
		if err != nil || used == 0 {
			return n, err
		}
	}
	if r.Body.Done() && r.Body.Trailer().Len() > 0 {
		r.Body = Body{Limits: r.Body.Limits} // an idle connection keeps no trailer
	}
	return n, nil
}

// Forget frees the bytes of a head that is whole, and the memory of its fields where they
// are more than most: an idle connection keeps neither.
func (r *Requests) Forget(most int) {
	if r.Head.Len() > most {
		r.Head = RequestHead{Limits: r.Head.Limits}
	}
	r.Head.Reset()
}
