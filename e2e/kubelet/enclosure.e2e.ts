import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { needing, root } from '../../src/testing/needs.ts';
import { until } from '../../src/testing/until.ts';
import { exited, processesOfRun, toolEnvironment } from '../cluster/processes.ts';
import { hierarchies } from './enclosure.ts';

const module = new URL('./enclosure.ts', import.meta.url).href;
const script = (body: string): string[] => [
  '--input-type=module',
  '-e',
  `import { openEnclosure } from '${module}'; const enclosure = await openEnclosure(); ${body}`,
];
const groupsOf = (dir: string): string[] =>
  hierarchies().filter((path) => existsSync(join(path, `svc-node-${basename(dir)}`)));

needing(root).test(
  'a killed run leaves no process, and the next run removes its folder and control groups',
  async () => {
    // Runs are registered below TMPDIR. A folder of its own leaves the other runs of this machine alone.
    const temp = mkdtempSync(join(tmpdir(), 'svc-enclosure-'));
    const env = toolEnvironment({ TMPDIR: temp });
    const holding = "console.log(enclosure.dir); await enclosure.run(['sleep', '600'], {});";
    const owner = spawn(process.execPath, script(holding), { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let dir = '';
    createInterface({ input: owner.stdout }).once('line', (line) => (dir = line));
    await until('it is open', async () => dir !== '');
    const run = `node-${basename(dir)}`;
    // `sleep` is the last program of a chain of setpriv, shells and unshare. Once it runs, each of these has asked the
    // kernel to kill it when its parent dies (PR_SET_PDEATHSIG).
    await until('the program runs in it', async () =>
      processesOfRun(run).some((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'sleep'),
    );
    expect(groupsOf(dir)).not.toEqual([]);
    owner.kill('SIGKILL');
    await exited(owner);
    await until('all its processes are gone', async () => processesOfRun(run).length === 0);
    expect(existsSync(dir)).toBe(true);
    const alone = execFileSync(process.execPath, script('console.log(enclosure.isAlone); await enclosure.close();'), {
      env,
    });
    expect(alone.toString().trim()).toBe('true');
    expect(existsSync(dir)).toBe(false);
    expect(groupsOf(dir)).toEqual([]);
    expect(readdirSync(join(temp, basename(join(dir, '..'))))).toEqual([]);
    rmSync(temp, { recursive: true });
  },
);

test('a registry that is a link is refused, and nothing is removed from the folder that it leads to', () => {
  const temp = mkdtempSync(join(tmpdir(), 'svc-enclosure-'));
  const precious = join(temp, 'precious', '4194305-1');
  mkdirSync(precious, { recursive: true });
  symlinkSync(join(temp, 'precious'), join(temp, `svc-node-${process.getuid?.() ?? 0}`));
  const open = (): unknown =>
    execFileSync(process.execPath, script(''), {
      env: toolEnvironment({ TMPDIR: temp }),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  expect(open).toThrow('is not a folder, so it is not used');
  expect(existsSync(precious)).toBe(true);
  rmSync(temp, { recursive: true });
});
