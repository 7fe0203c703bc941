/** Writes lines with the time since the command began and since the line before. */
export function createLog(started: number): (line: string) => void {
  let last = Date.now();
  return (line) => {
    const now = Date.now();
    const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
    process.stderr.write(`${seconds(now - started).padStart(6)} s ${`+${seconds(now - last)}`.padStart(7)}  ${line}\n`);
    last = now;
  };
}
