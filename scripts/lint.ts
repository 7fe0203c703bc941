/**
 * `npm run lint`, but for the format: types and rules of all sources, in one process over one program of the compiler.
 * A file is not looked at again if neither it nor the types of what it imports changed since the last run without a
 * fault.
 * `--only FILES`: the types of all sources, and the rules on these files alone.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { lintSources } from './lint/lint-sources.ts';

const root = join(import.meta.dirname, '..');
const rules = ['eslint.config.js', 'package.json', 'package-lock.json', 'tsconfig.json', 'ui/tsconfig.json'];
const [flag, ...files] = process.argv.slice(2);
const only = flag === '--only' ? files : undefined;
const { faults, text } = await lintSources({
  root,
  projects: ['tsconfig.json', 'ui/tsconfig.json'],
  stateDir: join(root, 'node_modules/.cache', only ? 'types' : 'lint'),
  rules: [...rules, ...globSync('scripts/{eslint,lint}/*.{js,ts}', { cwd: root })].map((file) => join(root, file)),
  only,
});
if (faults > 0) {
  console.error(text);
  process.exitCode = 1;
}
