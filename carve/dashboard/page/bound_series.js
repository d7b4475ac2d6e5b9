// Which points of the past belong to which bound. Two bounds may have one name
// ("share of responses"), so an id distinguishes them. Pure.

// identified gives each bound the id by which it is known, and nth, which of its
// name it is.
export function identified(bounds) {
  const seen = new Map();
  return bounds.map(b => {
    const nth = seen.get(b.what) ?? 0;
    seen.set(b.what, nth + 1);
    return { ...b, id: b.id || (nth ? `${b.what} ${nth + 1}` : b.what), nth };
  });
}

// seriesOf gives an identified bound's points. Points that were saved before
// bounds had ids are matched by which of their name they are.
export function seriesOf(points, bound) {
  return points.flatMap(p => {
    const at = p.bounds.some(x => x.id)
      ? p.bounds.find(x => (x.id || x.what) === bound.id)
      : p.bounds.filter(x => x.what === bound.what)[bound.nth];
    return at ? [{ ...at, at: Date.parse(p.at), compared: p.compared }] : [];
  });
}
