import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { Stage } from '../demo/stage.ts';
import type { Outcome } from '../install/tools.ts';
import type { Plugin } from './plugin.ts';

interface Index {
  files: { path: string; bytes: number }[];
  absent: { what: string; why: string }[];
}

/** What `support-bundle` collects from a real cluster, and what it leaves out. */
export function bundleCases(stage: () => Stage, plugin: () => Plugin): void {
  /** Makes a bundle and returns its files by path. */
  const make = async (...args: string[]): Promise<{ outcome: Outcome; files: Map<string, string>; index: Index }> => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-bundle-'));
    try {
      const archive = join(dir, 'bundle.tar.gz');
      const outcome = await plugin().svc(['support-bundle', '-o', archive, ...args]);
      if (outcome.code !== 0) throw new Error(outcome.stderr);
      await promisify(execFile)('tar', ['-xzf', archive, '-C', dir, '--strip-components=1']);
      const files = new Map<string, string>();
      for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        if (entry.isFile() && path !== archive) files.set(path.slice(dir.length + 1), await readFile(path, 'utf8'));
      }
      return { outcome, files, index: JSON.parse(files.get('index.json')!) as Index };
    } finally {
      await rm(dir, { recursive: true });
    }
  };
  const json = async (...args: string[]): Promise<{ items: Record<string, never>[] }> =>
    JSON.parse(await stage().cluster.kubectl([...args, '-o', 'json'])) as { items: Record<string, never>[] };

  describe('support-bundle', () => {
    test('has state, logs and metrics of every part, and neither a Secret nor an address from outside', async () => {
      const { outcome, files, index } = await make();
      expect(outcome.stdout).toMatch(/bundle\.tar\.gz\n$/);
      expect(index.files.map(({ path }) => path).sort()).toEqual(
        [...files.keys()].filter((path) => path !== 'README.md' && path !== 'index.json').sort(),
      );
      // The bundle has to cover every pod.
      const pods = (await json('-n', 'svc-system', 'get', 'pods')).items as unknown as { metadata: { name: string } }[];
      const found = pods.map(({ metadata: { name } }) => {
        const metrics = files.get(`metrics/svc-system/${name}.txt`) ?? '';
        const logs = [...files].filter(([path]) => path.startsWith(`logs/svc-system/${name}/`));
        return {
          name,
          ofItself: metrics.includes('svc_'),
          ofTraffic: metrics.includes('http_server'),
          log: logs.some(([, text]) => text !== ''),
        };
      });
      // Flows are on, so agents are on the host's network, where a scrape needs a token.
      const isAgent = (name: string): boolean => name.startsWith('svc-agent-');
      expect({ found, absent: index.absent }).toEqual({
        found: pods.map(({ metadata: { name } }) => ({ name, ofItself: !isAgent(name), ofTraffic: false, log: true })),
        absent: expect.any(Array),
      });
      const agents = pods.filter(({ metadata: { name } }) => isAgent(name));
      expect(agents).not.toHaveLength(0);
      for (const { metadata } of agents)
        expect(index.absent).toContainEqual({
          what: `metrics/svc-system/${metadata.name}.txt`,
          why: expect.stringContaining('asks for a token'),
        });
      expect(found.length).toBeGreaterThanOrEqual(4);
      expect(files.get('queries/agents.json')).toContain('svc_agent_up');
      expect(files.get('explain/node/node-1.txt')).toContain('node/node-1');
      expect(files.get('versions.json')).toContain('"gitVersion"');
      const whole = [...files].map(([path, text]) => `${path}\n${text}`).join('\n');
      const secrets = await json('get', 'secrets', '-A');
      const values = (secrets.items as unknown as { data?: Record<string, string> }[])
        .flatMap(({ data = {} }) => Object.values(data))
        .map((value) => Buffer.from(value, 'base64').toString())
        .flatMap((value) => (value.includes('PRIVATE KEY') ? value.split('\n').filter((l) => l.length >= 60) : [value]))
        .filter((value) => value.length >= 16 && !value.includes('BEGIN CERTIFICATE'));
      expect(values.length).toBeGreaterThan(0);
      expect(values.filter((value) => whole.includes(value))).toEqual([]);
      expect(whole).not.toMatch(/eyJ[\w-]{10,}\.[\w-]{10,}|PRIVATE KEY-----/);
      const known = await stage().cluster.kubectl(['get', 'nodes,pods,services', '-A', '-o', 'json']);
      const ranges = /^(10\.244\.|127\.|0\.0\.0\.0)/;
      const addresses = new Set(whole.match(/(?<![\d.])\d{1,3}(\.\d{1,3}){3}(?![\d.])/g));
      expect([...addresses].filter((address) => !ranges.test(address) && !known.includes(`"${address}"`))).toEqual([]);
    }, 120_000);

    test('is made without any rights, too, and names each missing right', async () => {
      const { files: whole } = await make();
      const { outcome, files, index } = await make('--as', 'nobody');
      const lists = [...whole.keys()].filter((path) => /^((objects|cluster|parts)\/\w+|events)\.yaml$/.test(path));
      expect(lists).toEqual(expect.arrayContaining(['objects/trafficmonitors.yaml', 'parts/pods.yaml', 'events.yaml']));
      const plural = (path: string): string => basename(path, '.yaml').replace(/^crds$/, 'customresourcedefinitions');
      expect(lists.filter((path) => files.has(path))).toEqual([]);
      expect(index.absent).toEqual(
        expect.arrayContaining([
          ...lists.map((path) => ({
            what: path,
            why: expect.stringMatching(new RegExp(`^you may not list ${plural(path)}( |$)`)),
          })),
          {
            what: expect.stringContaining('addresses of Services'),
            why: 'you may not list services in namespace svc-system',
          },
        ]),
      );
      expect(outcome.stderr).toContain('warning: not in it: ');
    }, 120_000);
  });
}
