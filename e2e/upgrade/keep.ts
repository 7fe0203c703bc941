/** `npm run keep-release`: keeps what was built as the release that later versions are upgraded from in tests. */
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { keepRelease } from './released.ts';

const file = await keepRelease(fileURLToPath(new URL('../../', import.meta.url)));
process.stdout.write(`${file}: ${(statSync(file).size / 1e6).toFixed(1)} MB\n`);
