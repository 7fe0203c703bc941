import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildIdentity } from '../../scripts/build/identity.ts';
import { makePackage } from '../../scripts/package/make.ts';
import { assembleRelease } from '../../scripts/release/assemble.ts';
import { repository } from '../install/tools.ts';
import { runShell, toolPath } from './project.ts';

const minute = 60_000;

/** A folder outside of the checkout with a release in it, and nothing else of ours. */
export interface Stage {
  readonly dir: string;
  readonly release: string;
  readonly version: string;
  /** Runs a step of the guide in `dir` or below; `npm install` takes the package from the release. */
  run(script: string, folder?: string, env?: Record<string, string>): Promise<string>;
  end(): Promise<void>;
}

/** Fills a release folder from what is built in dist/, and unpacks the npm package beside it, for `npx`. */
export async function stageRelease(): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-stranger-'));
  const release = join(dir, 'release');
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string };
  const dist = join(repository, 'dist');
  // Not in dist/, where the test of the release may make the same package at the same time.
  const packageIn = join(dir, 'made');
  await makePackage(join(packageIn, 'package'));
  await assembleRelease({ version, identity: buildIdentity(), dist, packageIn, out: release });
  const archive = `${release}/svc-operator-${version}.npm.tgz`;
  await runShell(`tar -xzf ${archive}`, dir, {}, minute);
  const PATH = await toolPath(dir, join(dir, 'package'));
  return {
    dir,
    release,
    version,
    run: (script, folder = '.', env = {}) => {
      const commands = script.replace(/^npm install$/m, `npm install --offline ${archive}`);
      return runShell(
        `${commands}\nwait`,
        join(dir, folder),
        { ...env, PATH: env['PATH'] ? `${env['PATH']}:${PATH}` : PATH },
        5 * minute,
      );
    },
    end: () => rm(dir, { recursive: true, force: true }),
  };
}
