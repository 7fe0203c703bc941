/**
 * `npm run lint` without the format check: type-checks and lints all sources in one process, over the same compiler
 * programs. A file is skipped if neither its text nor the types of its imports have changed since the last run without
 * a fault. `--only FILES`: checks the types of all sources, and lints only these files.
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
