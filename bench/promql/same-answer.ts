interface Series {
  readonly metric: Record<string, string>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

/** Our sums are rounded once, the peer's at each addition: the last digits may differ. Relative to the value. */
const tolerance = 1e-12;

/** The first difference between two answers of the query API; null when labels, times and values agree. */
export function sameAnswer(a: string, b: string): string | null {
  const [ours, peer] = [a, b].map(read) as [Map<string, Series>, Map<string, Series>];
  if (ours.size !== peer.size) return `${ours.size} series; peer ${peer.size}`;
  for (const [key, series] of ours) {
    const other = peer.get(key);
    if (other === undefined) return `series ${key} only here`;
    const [mine, theirs] = [pointsOf(series), pointsOf(other)];
    if (mine.length !== theirs.length) return `${key}: ${mine.length} points; peer ${theirs.length}`;
    for (const [i, [time, value]] of mine.entries()) {
      const [peerTime, peerValue] = theirs[i]!;
      const [x, y] = [Number(value), Number(peerValue)];
      const same = value === peerValue || Math.abs(x - y) <= tolerance * Math.max(Math.abs(x), Math.abs(y));
      if (time !== peerTime || !same) return `${key}: ${value} at ${time}; peer ${peerValue} at ${peerTime}`;
    }
  }
  return null;
}

function read(body: string): Map<string, Series> {
  const { data } = JSON.parse(body) as { data: { result: readonly Series[] } };
  return new Map(data.result.map((series) => [JSON.stringify(Object.entries(series.metric).sort()), series]));
}

function pointsOf({ value, values = [] }: Series): readonly (readonly [number, string])[] {
  return value === undefined ? values : [value];
}
