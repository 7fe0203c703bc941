import type { Need } from '../../src/testing/needs.ts';
import { findOnPath, isExecutable } from '../cluster/go-programs.ts';

/**
 * Chromium without the parts of a desktop browser comes first: it is the same engine, and takes half the processor time
 * for tests that open many tabs.
 */
const programs = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** The browser of this machine: `SVC_CHROMIUM`, or the first of the usual names on the PATH; undefined without one. */
export function findChromium(): string | undefined {
  const named = process.env['SVC_CHROMIUM'];
  if (named) return isExecutable(named) ? named : undefined;
  return programs.map((program) => findOnPath(program)).find((place) => place !== undefined);
}

export const browserNeed: Need = {
  name: 'browser',
  missing:
    findChromium() === undefined
      ? 'no Chromium: install one (Debian: apt-get install chromium-headless-shell) or name it in SVC_CHROMIUM'
      : undefined,
};
