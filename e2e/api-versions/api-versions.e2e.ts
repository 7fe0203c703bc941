/**
 * A second version of a kind, introduced over the releases n+1 to n+3 as docs/guides/api-versions.md describes, with
 * that guide's commands.
 */
import { dirname, delimiter } from 'node:path';
import fc from 'fast-check';
import type { KubeObject } from '../../src/api/meta.ts';
import { convert } from '../../src/net/webhook/conversion.ts';
import { until } from '../../src/testing/until.ts';
import { installCrds } from '../api/install.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { freePorts } from '../cluster/ports.ts';
import { blocksOf } from '../package/guide.ts';
import { runShell } from '../package/project.ts';
import { startOperator, type RunningOperator } from '../runtime/running-operator.ts';
import { converters, first, second } from './converters.ts';
import { definition } from './second-version.ts';
import { storedVersions } from './stored.ts';

const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/);
/** Specs that the schema and the rules of v1alpha1 accept. */
const spec = fc.record(
  {
    mode: fc.constant('Capture'),
    selector: fc.record({
      matchLabels: fc.dictionary(label, label, { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
    }),
    suspend: fc.boolean(),
    priority: fc.integer({ min: 0, max: 100 }),
    ports: fc
      .uniqueArray(fc.integer({ min: 1, max: 65_535 }), { minLength: 1, maxLength: 3 })
      .map((ports) => ports.map((port) => ({ port }))),
  },
  { requiredKeys: ['mode', 'selector'] },
);
const monitor = (name: string, version: string, of: object): KubeObject => ({
  apiVersion: `svc.dev/${version}`,
  kind: 'TrafficMonitor',
  metadata: { name, namespace: 'shop' },
  spec: of,
});

test('an object that is converted to the other version and back is unchanged', () => {
  const there = (object: KubeObject, version: string): KubeObject => convert(object, `svc.dev/${version}`, converters);
  fc.assert(
    fc.property(spec, fc.option(fc.string(), { nil: undefined }), (of, contact) => {
      const old = monitor('a', first, of);
      expect(there(there(old, second), first)).toEqual(old);
      const young = there(old, second);
      const named = { ...young, spec: { ...(young['spec'] as object), ...(contact === undefined ? {} : { contact }) } };
      expect(there(there(named, first), second)).toEqual(named);
    }),
  );
});

describe('on a real API server', () => {
  let cluster: Cluster;
  let operator: RunningOperator | undefined;
  let port: number;
  let steps: Awaited<ReturnType<typeof blocksOf>>;
  const before = process.env['KUBECONFIG'];
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args);
  const apply = (...objects: object[]): Promise<string> =>
    cluster.kubectl(['apply', '--server-side', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
    });
  const read = async (name: string, version: string): Promise<KubeObject> =>
    JSON.parse(
      await kubectl('-n', 'shop', 'get', `trafficmonitors.${version}.svc.dev`, name, '-o', 'json'),
    ) as KubeObject;
  const inStore = (): Promise<Record<string, string>> =>
    storedVersions(cluster.etcd, '/registry/svc.dev/trafficmonitors/shop/');
  /** Applies the new manifest, as an upgrade does. */
  const release = (served: readonly string[], stored: string): Promise<string> =>
    apply(definition(served, stored, `https://localhost:${port}`));
  /** A command of the guide. */
  const step = (name: string): Promise<string> => {
    const { text } = steps.find((block) => block.label === name)!;
    const PATH = [dirname(cluster.binaries.kubectl), process.env['PATH'] ?? ''].join(delimiter);
    return runShell(text, cluster.dir, { KUBECONFIG: cluster.kubeconfig, PATH }, 60_000);
  };
  /** Waits until the operator has observed the newest spec of a monitor. */
  const observed = (name: string): Promise<unknown> =>
    until(`${name} observed`, async () => {
      const { metadata, status } = (await read(name, first)) as KubeObject & {
        status?: { observedGeneration: number };
      };
      return status?.observedGeneration === metadata.generation;
    });
  const specs = fc.sample(spec, { numRuns: 8, seed: 7 });
  const converted = specs.map((of) => convert(monitor('', first, of), `svc.dev/${second}`, converters)['spec']);
  /** The specs, in one version, of the monitors that were created first. */
  const specsIn = (version: string): Promise<unknown[]> =>
    Promise.all(specs.map(async (_, i) => (await read(`old-${i}`, version))['spec']));

  beforeAll(async () => {
    [port] = (await freePorts(1)) as [number];
    [cluster, steps] = await Promise.all([startCluster(), blocksOf('api-versions.md')]);
    process.env['KUBECONFIG'] = cluster.kubeconfig;
    await installCrds(cluster);
    await kubectl('create', 'namespace', 'svc-system');
    await kubectl('create', 'namespace', 'shop');
    await apply(...specs.map((of, i) => monitor(`old-${i}`, first, of)));
    operator = await startOperator({ webhook: port, converters });
  }, 120_000);
  afterAll(async () => {
    await operator?.stop();
    if (before === undefined) delete process.env['KUBECONFIG'];
    else process.env['KUBECONFIG'] = before;
    await cluster?.stop();
  });

  test('n+1: with both versions served, an object that is written in one can be read whole in the other', async () => {
    await release([first, second], first);
    await until('the operator’s bundle', () =>
      kubectl(
        'get',
        'crd',
        'trafficmonitors.svc.dev',
        '-o',
        'jsonpath={.spec.conversion.webhook.clientConfig.caBundle}',
      ),
    );
    await until('the new version', () => read('old-0', second).catch(() => undefined));
    expect(await specsIn(second)).toEqual(converted);
    // After the objects are written back in the new version, the old version shows the same specs as before.
    const objects = await kubectl('-n', 'shop', 'get', `trafficmonitors.${second}.svc.dev`, '-o', 'json');
    await cluster.kubectl(['replace', '-f', '-'], { stdin: objects });
    expect(await specsIn(first)).toEqual(specs);
    const young = {
      mode: 'Capture',
      selector: { matchLabels: { app: 'young' } },
      state: 'Suspended',
      contact: 'team@example.dev',
    };
    await apply(monitor('young', second, young));
    expect((await read('young', first))['spec']).toEqual({ mode: 'Capture', selector: young.selector, suspend: true });
    await kubectl(
      '-n',
      'shop',
      'patch',
      'trafficmonitors.v1alpha1.svc.dev',
      'young',
      '--type=merge',
      '-p',
      '{"spec":{"priority":3}}',
    );
    expect((await read('young', second))['spec']).toEqual({ ...young, priority: 3 });
    await observed('young');
    expect(new Set(Object.values(await inStore()))).toEqual(new Set([`svc.dev/${first}`]));
  }, 60_000);

  test('n+2: writes are stored in the new version; the operator starts even if its lists need conversion', async () => {
    await release([first, second], second);
    await until('a write in the new version', async () => {
      await kubectl('-n', 'shop', 'annotate', 'tm', 'young', `touched=${Date.now()}`, '--overwrite');
      return (await inStore())['young'] === `svc.dev/${second}`;
    });
    expect((await inStore())['old-0']).toBe(`svc.dev/${first}`);
    await operator!.stop();
    operator = await startOperator({ webhook: port, converters });
    await kubectl('-n', 'shop', 'patch', 'tm', 'young', '--type=merge', '-p', '{"spec":{"state":"Active"}}');
    await observed('young');
  }, 60_000);

  test('the old version cannot be removed while an object is stored in it', async () => {
    expect(
      JSON.parse(await kubectl('get', 'crd', 'trafficmonitors.svc.dev', '-o', 'jsonpath={.status.storedVersions}')),
    ).toEqual([first, second]);
    await expect(release([second], second)).rejects.toThrow(/storedVersions/);
  });

  test('the guide’s commands rewrite every object in the new version, and show that none is left', async () => {
    expect(await step('look')).toContain(`[${first} ${second}]`);
    await step('rewrite');
    expect(new Set(Object.values(await inStore()))).toEqual(new Set([`svc.dev/${second}`]));
    expect(await step('look')).not.toContain(`[${first} ${second}]`);
    expect(await specsIn(first)).toEqual(specs);
  }, 60_000);

  test('n+3: the old version is removed, and objects written in it stay', async () => {
    await operator!.stop();
    operator = undefined;
    await release([second], second);
    await until('its end', () =>
      read('old-0', first).then(
        () => false,
        () => true,
      ),
    );
    expect(await specsIn(second)).toEqual(converted);
    expect((await read('young', second))['spec']).toMatchObject({ contact: 'team@example.dev', state: 'Active' });
  }, 60_000);
});
