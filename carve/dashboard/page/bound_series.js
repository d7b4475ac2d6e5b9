// Which points of the past belong to which bound. Two bounds may have one name
// ("share of responses"), so an id distinguishes them. Pure.

// identified gives each bound its id: its name, unless it has one of its own.
export function identified(bounds) {
  return bounds.map(b => ({ ...b, id: b.id || b.what }));
}

// seriesOf gives an identified bound's points.
export function seriesOf(points, bound) {
  return points.flatMap(p => {
    const at = p.bounds.find(x => (x.id || x.what) === bound.id);
    return at ? [{ ...at, at: Date.parse(p.at), compared: p.compared }] : [];
  });
}
