/**
 * What a test needs of its machine. A test that cannot run is skipped while Jest collects the tests. The reason is in
 * its title, where people and the tally of `make test` find it.
 */

/** One thing that a machine may lack. */
export interface Need {
  /** The name in `.ci/allowed-skips`, one word. */
  readonly name: string;
  /** Why the tests cannot run, and how to install what is missing. Undefined if nothing is missing. */
  readonly missing: string | undefined;
}

/** `describe` and `test` for tests that run only where their needs are met. */
export interface Needing {
  describe(title: string, tests: () => void): void;
  test(title: string, body: () => Promise<unknown>, timeoutMs?: number): void;
}

/** Runs tests where every need is met and skips them elsewhere, with the first missing need in their title. */
export function needing(...needs: readonly Need[]): Needing {
  const unmet = needs.find(({ missing }) => missing !== undefined);
  if (unmet === undefined) return { describe, test };
  const titled = (title: string): string => `${title} ${skipNote(unmet.name, unmet.missing!)}`;
  return {
    describe: (title, tests) => describe.skip(titled(title), tests),
    test: (title, body, timeoutMs) => test.skip(titled(title), body, timeoutMs),
  };
}

/** The note at the end of the title of a skipped test. */
export function skipNote(name: string, reason: string): string {
  return `[needs ${name}: ${reason}]`;
}

/** Reads the skip note in a title; undefined without one. */
export function readSkipNote(title: string): { name: string; reason: string; rest: string } | undefined {
  const found = /\s*\[needs (\S+?): ([^\]]*)\]/.exec(title);
  if (!found) return undefined;
  return { name: found[1]!, reason: found[2]!, rest: title.replace(found[0], '') };
}

/** Root rights, for mounts, network namespaces and control groups. */
export const root: Need = {
  name: 'root',
  missing: process.getuid?.() === 0 ? undefined : 'the user is not root, who alone may mount volumes',
};

/** The folder of the PromQL conformance data: golden/*.golden.json.gz, input/*.om.gz, promqltest, compliance. */
export const conformanceDir = process.env['SVC_PROMQL_DATA'] ?? '';

/** Prometheus' scripts and recorded answers, which are not part of this repository. */
export const conformanceData: Need = {
  name: 'conformance-data',
  missing: conformanceDir === '' ? 'SVC_PROMQL_DATA names no folder with the PromQL conformance data' : undefined,
};
