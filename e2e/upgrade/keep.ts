/** `npm run keep-release`: archives the current build as a release, from which the tests of later versions upgrade. */
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { keepRelease } from './released.ts';

const file = await keepRelease(fileURLToPath(new URL('../../', import.meta.url)));
process.stdout.write(`${file}: ${(statSync(file).size / 1e6).toFixed(1)} MB\n`);
