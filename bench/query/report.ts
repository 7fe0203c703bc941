/** Prints one figure. `goal` bounds the ratio where there is a peer, else the figure itself. */
export function report(name: string, unit: string, ours: number, peer: number | null, goal: number | null): void {
  const round = (value: number): number => Number(value.toPrecision(4));
  const ratio = peer === null ? null : round(ours / peer);
  const met = goal === null ? null : (ratio ?? ours) <= goal;
  console.log(
    JSON.stringify({ name, unit, ours: round(ours), peer: peer === null ? null : round(peer), ratio, goal, met }),
  );
}
