import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Need } from '../../src/testing/needs.ts';

const programs = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** The real browser of this machine: `SVC_CHROMIUM`, or the first of the usual names on the PATH; undefined without one. */
export function findChromium(): string | undefined {
  const named = process.env['SVC_CHROMIUM'];
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const places = named ? [named] : programs.flatMap((program) => folders.map((folder) => join(folder, program)));
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export const browserNeed: Need = {
  name: 'browser',
  missing:
    findChromium() === undefined
      ? 'no Chromium: install one (Debian: apt-get install chromium) or name it in SVC_CHROMIUM'
      : undefined,
};
