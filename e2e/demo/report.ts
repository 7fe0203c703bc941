/** What the demo says while it works: steps with elapsed time on stderr-like lines, findings with a verdict. */
export interface Report {
  /** Runs a slow step; prints its name at once, a sign of life every five seconds, and its time at the end. */
  step<T>(name: string, work: (note: (text: string) => void) => Promise<T>): Promise<T>;
  /** One line of the tour: what was expected, what came, and whether they agree. */
  expect(what: string, ok: boolean, got: string): void;
  /** Text as it is. */
  show(text: string): void;
  readonly failures: readonly string[];
}

export function createReport(write: (text: string) => void = (text) => void process.stdout.write(text)): Report {
  const origin = performance.now();
  const failures: string[] = [];
  const stamp = (): string => `${((performance.now() - origin) / 1000).toFixed(1).padStart(6)} s`;
  return {
    failures,
    async step(name, work) {
      const started = performance.now();
      const elapsed = (): string => `${((performance.now() - started) / 1000).toFixed(1)} s`;
      let note = '';
      write(`${stamp()}  ${name} …\n`);
      const life = setInterval(
        () => write(`${stamp()}    still: ${name}${note ? ` (${note})` : ''}, ${elapsed()}\n`),
        5_000,
      );
      try {
        const result = await work((text) => {
          note = text;
        });
        write(`${stamp()}    done in ${elapsed()}\n`);
        return result;
      } finally {
        clearInterval(life);
      }
    },
    expect(what, ok, got) {
      if (!ok) failures.push(what);
      write(`${ok ? '  ✔' : '  ✘'} ${what}: ${got}\n`);
    },
    show: (text) => write(text.endsWith('\n') ? text : `${text}\n`),
  };
}
