package h2

import (
	"encoding/binary"
	"errors"
	"time"
)

// take does what a frame says. Its error ends the connection.
func (c *conn) take(f *frame) error {
	err := c.takeFrame(f)
	if bad, ok := errors.AsType[streamError](err); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if st := c.streams[bad.stream]; st != nil {
			c.reset(st, bad.code)
		} else {
			c.sendReset(bad.stream, bad.code)
		}
		return c.useless()
	}
	return err
}

func (c *conn) takeFrame(f *frame) error {
	if !c.greeted && (f.kind != frameSettings || f.has(flagAck)) {
		return connError{codeProtocol, "the first frame is not SETTINGS"}
	}
	if c.head.open && (f.kind != frameContinuation || f.stream != c.head.stream) {
		return connError{codeProtocol, "a header was interrupted by another frame"}
	}
	switch f.kind {
	case frameHeaders:
		return c.takeHeaders(f)
	case frameContinuation:
		return c.takeContinuation(f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f.kind {
	case frameData:
		return c.takeData(f)
	case frameSettings:
		return c.takeSettings(f)
	case frameWindowUpdate:
		return c.takeWindowUpdate(f)
	case frameReset:
		return c.takeReset(f)
	case framePing:
		return c.takePing(f)
	case framePriority:
		return c.takePriority(f)
	case frameGoAway:
		return c.takeGoAway(f)
	case framePushPromise:
		return connError{codeProtocol, "clients cannot push"}
	}
	return c.useless() // unknown ones are ignored (RFC 9113, section 4.1)
}

// useless counts a frame that asks for nothing. The caller holds mu.
func (c *conn) useless() error {
	if c.budget--; c.budget >= 0 {
		return nil
	}
	now := time.Now()
	c.budget += int(min(now.Sub(c.refilled).Seconds()*perSecond, fullBudget))
	if c.refilled = now; c.budget < 0 {
		return connError{codeCalm, "too many frames that ask for nothing"}
	}
	return nil
}

// useful counts a frame that carries something. The caller holds mu.
func (c *conn) useful() { c.budget = min(c.budget+perUseful, fullBudget) }

// isIdle reports whether a stream has not been begun. The caller holds mu.
func (c *conn) isIdle(id uint32) bool { return id > c.last || id%2 == 0 }

// The following take a frame of one kind. The caller holds mu.

func (c *conn) takeData(f *frame) error {
	if f.stream == 0 {
		return connError{codeProtocol, "DATA without a stream"}
	}
	p, err := f.content()
	if err != nil {
		return err
	}
	n := len(f.payload)
	if n > c.left {
		return connError{codeFlowControl, "more was sent than the connection's window allows"}
	}
	c.left -= n
	st := c.streams[f.stream]
	switch {
	case st == nil && c.isIdle(f.stream) && c.departure != goes:
		return connError{codeProtocol, "DATA on a stream that was not begun"}
	case st == nil && (c.isIdle(f.stream) || c.wasReset(f.stream)):
		c.replenish(n)
		if len(p) > 0 {
			return nil // it was sent before the client knew
		}
		return c.useless()
	case st == nil, st.whole:
		c.replenish(n)
		return streamError{f.stream, codeStreamClosed}
	case n > st.left:
		c.replenish(n)
		return streamError{f.stream, codeFlowControl}
	}
	if len(p) > 0 {
		c.useful()
	} else if !f.has(flagEndStream) {
		if err := c.useless(); err != nil {
			return err
		}
	}
	return st.takeData(p, n, f.has(flagEndStream))
}

func (c *conn) takeSettings(f *frame) error {
	const each = 6
	switch {
	case f.stream != 0:
		return connError{codeProtocol, "SETTINGS of a stream"}
	case f.has(flagAck) && len(f.payload) > 0, len(f.payload)%each != 0:
		return connError{codeFrameSize, "SETTINGS of a wrong length"}
	case f.has(flagAck):
		return c.useless()
	}
	if !c.greeted {
		c.greeted, c.begun = true, time.Time{}
	}
	for p := f.payload; len(p) > 0; p = p[each:] {
		if err := c.set(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
		if err := c.useless(); err != nil { // each may change all windows
			return err
		}
	}
	c.frame(frameSettings, flagAck, 0)
	return c.useless()
}

// set takes one setting of the client. The caller holds mu.
func (c *conn) set(id uint16, value uint32) error {
	switch id {
	case settingTableSize:
		c.enc.SetMaxDynamicTableSize(min(value, tableSize))
	case settingPush:
		if value > 1 {
			return connError{codeProtocol, "SETTINGS_ENABLE_PUSH is neither 0 nor 1"}
		}
	case settingMaxFrame:
		if value < maxFrame || value >= 1<<24 {
			return connError{codeProtocol, "SETTINGS_MAX_FRAME_SIZE is out of its range"}
		}
	case settingInitialWindow:
		if value > maxWindow {
			return connError{codeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE is out of its range"}
		}
		more := int64(value) - c.startsWith
		c.startsWith = int64(value)
		for _, st := range c.streams {
			if st.window += more; st.window > maxWindow {
				return connError{codeFlowControl, "SETTINGS make a window too large"}
			}
			st.may.Broadcast()
		}
	}
	return nil
}

func (c *conn) takeWindowUpdate(f *frame) error {
	if len(f.payload) != 4 {
		return connError{codeFrameSize, "WINDOW_UPDATE of a wrong length"}
	}
	more := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	if err := c.useless(); err != nil {
		return err
	}
	if f.stream == 0 {
		if more == 0 {
			return connError{codeProtocol, "WINDOW_UPDATE by nothing"}
		}
		if c.window += more; c.window > maxWindow {
			return connError{codeFlowControl, "the connection's window became too large"}
		}
		c.wakeSender()
		return nil
	}
	if c.isIdle(f.stream) && c.departure != goes {
		return connError{codeProtocol, "WINDOW_UPDATE of a stream that was not begun"}
	}
	st := c.streams[f.stream]
	switch {
	case st == nil:
		return nil
	case more == 0:
		return streamError{f.stream, codeProtocol}
	}
	if st.window += more; st.window > maxWindow {
		return streamError{f.stream, codeFlowControl}
	}
	st.may.Broadcast()
	return nil
}

func (c *conn) takeReset(f *frame) error {
	switch {
	case len(f.payload) != 4:
		return connError{codeFrameSize, "RST_STREAM of a wrong length"}
	case f.stream == 0, c.isIdle(f.stream) && c.departure != goes:
		return connError{codeProtocol, "RST_STREAM of a stream that was not begun"}
	}
	if st := c.streams[f.stream]; st != nil {
		c.drop(st, streamError{f.stream, errCode(binary.BigEndian.Uint32(f.payload))})
	}
	return c.useless()
}

func (c *conn) takePing(f *frame) error {
	switch {
	case len(f.payload) != 8:
		return connError{codeFrameSize, "PING of a wrong length"}
	case f.stream != 0:
		return connError{codeProtocol, "PING of a stream"}
	}
	switch {
	case !f.has(flagAck):
		c.frame(framePing, flagAck, 0, f.payload...)
	case string(f.payload) == string(departPing):
		c.depart()
	}
	return c.useless()
}

func (c *conn) takePriority(f *frame) error {
	switch {
	case f.stream == 0:
		return connError{codeProtocol, "PRIORITY without a stream"}
	case len(f.payload) != priorityLength:
		return streamError{f.stream, codeFrameSize}
	case dependency(f.payload) == f.stream:
		return streamError{f.stream, codeProtocol}
	}
	return c.useless() // priorities of this kind are obsolete (RFC 9113, section 5.3.2)
}

// priorityLength is how long a priority is.
const priorityLength = 5

// dependency is the stream on which a priority makes another one depend.
func dependency(p []byte) uint32 { return binary.BigEndian.Uint32(p) & (1<<31 - 1) }

func (c *conn) takeGoAway(f *frame) error {
	switch {
	case f.stream != 0:
		return connError{codeProtocol, "GOAWAY of a stream"}
	case len(f.payload) < 8:
		return connError{codeFrameSize, "GOAWAY of a wrong length"}
	}
	c.tellToLeave()
	return c.useless()
}
