import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * As `npm ci`: leaves out what the environment says, unless its flags include it. The pinned Node is a package of the
 * tools, and its program is an optional one.
 */
const npm = `#!/bin/sh
[ "$1" = ci ] || exit 1
[ "$NODE_ENV" = production ] && omit=dev
for kind in $omit $npm_config_omit; do
  case " $* " in *" --include=$kind "*) ;; *) exit 0;; esac
done
mkdir -p node_modules/.bin && ln -s "$PINNED_NODE" node_modules/.bin/node
`;

test.each([
  ['nothing', {}],
  ['NODE_ENV=production', { NODE_ENV: 'production' }],
  ['npm_config_omit=dev', { npm_config_omit: 'dev' }],
  ['npm_config_omit=optional', { npm_config_omit: 'optional' }],
])('the setup installs all that the tools need where the environment has %s', (_what, variables) => {
  const temp = mkdtempSync(join(tmpdir(), 'svc-setup-'));
  for (const folder of ['bin', 'scripts']) mkdirSync(join(temp, folder));
  copyFileSync(join(import.meta.dirname, 'setup.sh'), join(temp, 'scripts/setup.sh'));
  writeFileSync(join(temp, 'bin/npm'), npm, { mode: 0o755 });
  symlinkSync(process.execPath, join(temp, 'bin/node'));
  const env = { PATH: `${join(temp, 'bin')}:/usr/bin:/bin`, TMPDIR: temp, PINNED_NODE: process.execPath, ...variables };
  const { stderr } = spawnSync('bash', [join(temp, 'scripts/setup.sh')], { env, encoding: 'utf8' });
  expect(stderr.split('\n').at(-2)).toMatch(/^setup: done in \d+ s, Node v24\./);
  rmSync(temp, { recursive: true });
});
