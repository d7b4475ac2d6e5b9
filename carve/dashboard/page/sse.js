// reader takes the text of an event stream in pieces, as they come, and calls
// onEvent(name, data) for each whole event and onRetry(ms) where the server
// says how long to wait. The format is WHATWG HTML's, section 9.2.6; ids are not
// needed, since each event is the whole status.
export function reader(onEvent, onRetry) {
  let rest = '', name = '', data = [];
  const line = text => {
    if (text === '') {
      if (data.length) onEvent(name || 'message', data.join('\n'));
      name = '';
      data = [];
      return;
    }
    const colon = text.indexOf(':');
    if (colon === 0) return; // a comment: the heartbeat
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') name = value;
    else if (field === 'data') data.push(value);
    else if (field === 'retry' && /^\d+$/.test(value)) onRetry(Number(value));
  };
  return piece => {
    rest += piece;
    // A CR at the end may be the first half of a CRLF.
    const whole = rest.endsWith('\r') ? rest.length - 1 : rest.length;
    const ends = /\r\n|\r|\n/g;
    let from = 0, end;
    while ((end = ends.exec(rest)) && end.index < whole) {
      line(rest.slice(from, end.index));
      from = ends.lastIndex;
    }
    rest = rest.slice(from);
  };
}
