import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../base/logger.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { agentRules } from '../../testing/minter-world/world.ts';
import { compileRules, type RuleSources } from './rule-directory.ts';
import { fileFor, noRules } from './rule-set.ts';
import { RuleStore } from './rule-store.ts';

let dir: string;
let clock: FakeClock;
let store: RuleStore;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rules-'));
  clock = new FakeClock();
  store = new RuleStore({ dir, pollMs: 15_000, allowWildcard: false, clock, logger: silentLogger });
});

afterEach(async () => {
  store.close();
  await rm(dir, { recursive: true, force: true });
});

const scopesOf = (repository: string): string[] => [...(fileFor(store.current, repository)?.scopes.keys() ?? [])];
const hasRules = (repository: string): boolean => scopesOf(repository).length > 0;

/** Puts files in place as a mounted ConfigMap does: a new directory, then one swap of the link `..data`. */
async function mountConfigMap(version: string, files: Record<string, string>): Promise<void> {
  const data = join(dir, `..${version}`);
  await mkdir(data);
  for (const [name, text] of Object.entries(files)) await writeFile(join(data, name), text);
  await symlink(`..${version}`, join(dir, '..data_tmp'));
  await rename(join(dir, '..data_tmp'), join(dir, '..data'));
  for (const name of Object.keys(files)) await symlink(join('..data', name), join(dir, name)).catch(() => {});
}

test('reads a mounted ConfigMap and follows the swap of its link without waiting for a poll', async () => {
  await mountConfigMap('v1', { 'gitops.yaml': agentRules(['gitops']) });
  await store.start();
  expect(hasRules('gitops')).toBe(true);
  await mountConfigMap('v2', { 'gitops.yaml': agentRules(['other']) });
  await until(
    'the changed rules',
    () => fileFor(store.current, 'gitops')?.scopes.get('platform-agent-scope')?.repositories.has('other'),
    { good: Boolean },
  );
});

test('a key removed from the ConfigMap ends its rules, although the link to its file is still there', async () => {
  await mountConfigMap('v1', { 'gitops.yaml': agentRules(['gitops']) });
  await store.start();
  await mountConfigMap('v2', { 'extra.yaml': agentRules(['extra']) });
  await until('the changed rules', () => hasRules('extra') && !hasRules('gitops'), { good: Boolean });
  expect(store.current.files.has('gitops')).toBe(false);
});

test('a deleted ConfigMap, for which an empty one is mounted, ends every rule', async () => {
  await mountConfigMap('v1', { '.yaml': agentRules(['gitops']), 'extra.yaml': agentRules(['extra']) });
  await store.start();
  expect([hasRules('gitops'), hasRules('extra')]).toEqual([true, true]);
  await mountConfigMap('v2', {});
  await until('no rules', () => store.current.hash === noRules.hash, { good: Boolean });
  expect([store.found, hasRules('gitops'), hasRules('extra')]).toEqual([true, false, false]);
});

test('polls where changes cannot be watched', async () => {
  // A directory that is not there cannot be watched.
  await rm(dir, { recursive: true });
  await store.start();
  await mkdir(dir);
  await writeFile(join(dir, '.yaml'), agentRules(['gitops']));
  const poll = clock.pending;
  await clock.advance(14_999);
  expect([poll, clock.pending]).toEqual([1, 1]);
  await clock.advance(1);
  await until('the changed rules', () => hasRules('gitops'), { good: Boolean });
  await until('the next poll', () => clock.pending === 1);
});

test('keeps the last good version of a file that became faulty, and reports it', async () => {
  await writeFile(join(dir, 'gitops.yaml'), agentRules(['gitops']));
  await store.start();
  await writeFile(join(dir, 'gitops.yaml'), 'version: nonsense');
  await store.reload();
  expect(hasRules('gitops')).toBe(true);
  expect(store.current.faults).toEqual([
    expect.objectContaining({ file: 'gitops.yaml', message: expect.stringContaining('version') as string }),
  ]);
});

test('a file that was faulty from the start denies its repository, even if the catch-all file allows it', async () => {
  await writeFile(join(dir, '.yaml'), agentRules(['gitops', 'extra']));
  await writeFile(join(dir, 'gitops.yaml'), 'nonsense');
  await store.start();
  expect(hasRules('gitops')).toBe(false);
  expect(hasRules('GITOPS')).toBe(false);
  expect(hasRules('extra')).toBe(true);
});

test('of two files whose names differ only by case neither is used', async () => {
  await writeFile(join(dir, '.yaml'), agentRules(['gitops']));
  await writeFile(join(dir, 'gitops.yaml'), agentRules(['gitops']));
  await writeFile(join(dir, 'GitOps.yaml'), agentRules(['gitops']));
  await store.start();
  expect(hasRules('gitops')).toBe(false);
  await rm(join(dir, 'GitOps.yaml'));
  await store.reload();
  expect(hasRules('gitops')).toBe(true);
});

test('links out of the directory, directories and odd names are faults', async () => {
  const outside = await mkdtemp(join(tmpdir(), 'outside-'));
  await writeFile(join(outside, 'x.yaml'), agentRules(['x']));
  await symlink(join(outside, 'x.yaml'), join(dir, 'x.yaml'));
  await mkdir(join(dir, 'd.yaml'));
  await writeFile(join(dir, 'a b.yaml'), agentRules(['a']));
  await writeFile(join(dir, '..hidden.yaml'), agentRules(['h']));
  await writeFile(join(dir, 'notes.txt'), 'x');
  await store.start();
  expect(store.current.faults.map((f) => `${f.file}: ${f.message}`).sort()).toEqual([
    'a b.yaml: file name is not <repository>.yaml',
    'd.yaml: is not a regular file',
    'x.yaml: link leads out of the directory',
  ]);
  expect(hasRules('x')).toBe(false);
  await rm(outside, { recursive: true });
});

test('removing the directory removes its rules', async () => {
  await writeFile(join(dir, '.yaml'), agentRules(['gitops']));
  await store.start();
  expect(store.found).toBe(true);
  await rm(dir, { recursive: true });
  await store.reload();
  expect([store.found, hasRules('gitops')]).toEqual([false, false]);
});

test('the 201st file is a fault', async () => {
  for (let i = 0; i < 201; i++) await writeFile(join(dir, `r${1000 + i}.yaml`), agentRules([`r${1000 + i}`]));
  await store.start();
  expect(store.current.faults).toEqual([{ file: 'r1200.yaml', message: 'more than 200 files' }]);
});

test('the hash depends on the rules in force, not on the order in which their files are read', async () => {
  await writeFile(join(dir, 'a.yaml'), agentRules(['a']));
  await writeFile(join(dir, 'b.yaml'), agentRules(['b']));
  await store.start();
  const { hash } = store.current;
  await store.reload();
  expect(store.current.hash).toBe(hash);
  const source = (name: string) => ({ bytes: Buffer.from(agentRules([name])) });
  const turned: RuleSources = new Map([
    ['b.yaml', source('b')],
    ['a.yaml', source('a')],
  ]);
  expect(compileRules(turned, noRules, { allowWildcard: false }).hash).toBe(hash);
  await rm(join(dir, 'b.yaml'));
  await store.reload();
  expect(store.current.hash).not.toBe(hash);
});
