/** Prints one figure; `goal` bounds the ratio. */
export function report(name: string, unit: string, ours: number, peer: number | null, goal: number | null): void {
  const round = (value: number): number => Number(value.toPrecision(4));
  const ratio = peer === null ? null : round(ours / peer);
  const met = ratio === null || goal === null ? null : ratio <= goal;
  console.log(
    JSON.stringify({ name, unit, ours: round(ours), peer: peer === null ? null : round(peer), ratio, goal, met }),
  );
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
