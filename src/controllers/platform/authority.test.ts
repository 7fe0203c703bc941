import { createPrivateKey, X509Certificate } from 'node:crypto';
import { clusterTrafficPolicies } from '../../api/v1alpha1/index.ts';
import { createCa } from '../../net/ca.ts';
import { coreResources } from '../../kube/index.ts';
import { names, platformDefaults } from '../../render/index.ts';
import { policyObject, startPlatform, type PlatformHarness } from '../../testing/operator/platform-world.ts';
import { certificateStates, planLeaves } from './certificates.ts';
import { certificateCondition } from './reconciler.ts';
import { PlatformTrouble } from './trouble.ts';

const { secrets } = coreResources;
const day = 86_400_000;
const { namespace } = platformDefaults;

test('renews a leaf at two thirds of its life, with the same CA, and says when the next renewal is due', async () => {
  await using harness = await startPlatform();
  const ca = { signer: { cert: harness.pem(names.ca, 'ca.crt'), key: harness.pem(names.ca, 'ca.key') } };
  const live = new Map([names.queryTls, names.controllerTls].map((name) => [name, harness.secret(name)]));
  const start = harness.clock.now();
  const young = await planLeaves(namespace, ca, live, { now: start + 59 * day });
  expect(young.issued).toEqual({});
  expect(young.secrets.map((s) => s.data)).toEqual([...live.values()].map((s) => s.data));
  expect((young.renewAt - start) / day).toBeCloseTo(60, 0);
  const due = await planLeaves(namespace, ca, live, { now: start + 61 * day });
  expect(new Set(Object.values(due.issued))).toEqual(new Set(['due for renewal']));
  const bundle = live.get(names.queryTls)!.data!['ca.crt'];
  expect(due.secrets.map((s) => s.data!['ca.crt'])).toEqual([bundle, bundle]);
});

test('a CA bundle that grew reaches the leaves without new keys', async () => {
  await using harness = await startPlatform();
  const signer = { cert: harness.pem(names.ca, 'ca.crt'), key: harness.pem(names.ca, 'ca.key') };
  const live = new Map([[names.queryTls, harness.secret(names.queryTls)]]);
  const now = harness.clock.now();
  const next = { pair: await createCa({ commonName: names.ca, now }), since: now };
  const plan = await planLeaves(namespace, { signer, next }, live, { now });
  expect([plan.issued[names.queryTls], plan.rebundled]).toEqual([undefined, [names.queryTls]]);
  expect(plan.secrets[0]!.data!['tls.key']).toBe(live.get(names.queryTls)!.data!['tls.key']);
});

test('an existing CA is kept, even if the cache does not hold it', async () => {
  await using first = await startPlatform();
  const ca = first.pem(names.ca, 'ca.crt');
  const stored = first.secret(names.ca);
  const { resourceVersion: _rv, uid: _uid, ...metadata } = stored.metadata;
  await using again = await startPlatform([{ ...stored, metadata }]);
  expect(again.pem(names.ca, 'ca.crt')).toBe(ca);
  // The cache selects by labels, so it does not hold this Secret.
  await using outside = await startPlatform([{ ...stored, metadata: { ...metadata, labels: { team: 'net' } } }]);
  expect(outside.pem(names.ca, 'ca.crt')).toBe(ca);
  // All who read the cache get it back, and what others added stays.
  expect(outside.secret(names.ca).metadata.labels).toEqual({ ...metadata.labels, team: 'net' });
});

test('a repair of a label has another manager: it does not move the time at which a date was stored', async () => {
  await using harness = await startPlatform();
  const stored = harness.secret(names.ca);
  const label = 'app.kubernetes.io/managed-by';
  const { [label]: managedBy, ...labels } = stored.metadata.labels!;
  harness.server.put(secrets, { ...stored, metadata: { ...stored.metadata, labels } }, 'kubectl');
  await harness.passUntil(() => harness.secret(names.ca).metadata.labels?.[label] === managedBy, 'the label');
  const owners = harness
    .secret(names.ca)
    .metadata.managedFields!.filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes(label))
    .map(({ manager }) => manager);
  expect(owners).toEqual([`${stored.metadata.managedFields![0]!.manager}-repair`]);
});

describe('the condition CertificateExpiring of policies', () => {
  test('is False on each policy, for its generation, while certificates are renewed in time', async () => {
    const edited = policyObject('edited', {}, { generation: 7 });
    await using harness = await startPlatform([policyObject('default', {}), edited]);
    for (const name of ['default', 'edited']) {
      await harness.passUntil(() => harness.conditionOf(name, 'CertificateExpiring'), `the condition of ${name}`);
      const { generation } = harness.server.storage.get(clusterTrafficPolicies, undefined, name).metadata;
      expect(harness.conditionOf(name, 'CertificateExpiring')).toMatchObject({
        ...{ status: 'False', reason: 'CertificatesValid', observedGeneration: generation },
      });
    }
  });

  test('reports an overdue renewal before the certificate expires; a metric shows each expiry time', async () => {
    await using harness = await startPlatform([policyObject('default', {})]);
    const states = certificateStates(
      new Map([[names.queryTls, harness.secret(names.queryTls)]]),
      harness.clock.now() + 70 * day,
    );
    expect(states).toMatchObject([{ secret: names.queryTls, overdue: true }]);
    expect(certificateCondition(states)).toMatchObject({ status: 'True', reason: 'RenewalOverdue' });
    expect(certificateCondition(states).message).toContain('svc-query-tls ends ');
    expect(certificateCondition(states, 'node-1: away')).toMatchObject({ reason: 'RenewalOverdue' });
    expect(certificateCondition([], 'node-1: away')).toEqual({
      ...{ type: 'CertificateExpiring', status: 'True', reason: 'AgentsWaiting' },
      message: 'agents got no certificate: node-1: away',
    });
    const text = await harness.manager.metricsText();
    for (const name of [names.ca, names.queryTls, names.controllerTls])
      expect(text).toMatch(new RegExp(`svc_controller_cert_expiry_timestamp_seconds\\{secret="${name}"\\} \\d`));
  });
});

describe('the certificate authority', () => {
  const bundleOf = (harness: PlatformHarness, name: string): number =>
    harness.pem(name, 'ca.crt').split('BEGIN CERTIFICATE').length - 1;

  test('is replaced in steps on request, and every leaf follows', async () => {
    await using harness = await startPlatform([], {
      caTiming: { days: 3650, distributionMs: 60_000, retirementMs: 120_000 },
    });
    const old = harness.pem(names.ca, 'ca.crt');
    const { metadata, ...rest } = harness.secret(names.ca);
    const asked = { ...rest, metadata: { ...metadata, annotations: { 'svc.dev/rotate-ca': 'key seen in a log' } } };
    harness.server.put(secrets, asked, 'kubectl');
    await harness.passUntil(() => bundleOf(harness, names.queryTls) === 2, 'the new authority in every bundle');
    expect(harness.pem(names.ca, 'ca.crt')).toBe(old);
    const leaves = [names.queryTls, names.controllerTls];
    const before = leaves.map((name) => harness.pem(name, 'tls.crt'));
    await harness.clock.advance(60_000);
    await harness.passUntil(() => harness.pem(names.ca, 'ca.crt') !== old, 'the change of the signer');
    await harness.passUntil(
      () => leaves.every((name, i) => harness.pem(name, 'tls.crt') !== before[i]),
      'leaves of the new authority',
    );
    const { publicKey } = new X509Certificate(harness.pem(names.ca, 'ca.crt'));
    for (const name of leaves) {
      expect(new X509Certificate(harness.pem(name, 'tls.crt')).verify(publicKey)).toBe(true);
      expect(harness.pem(name, 'ca.crt')).toContain(old);
    }
    await harness.clock.advance(120_000);
    await harness.passUntil(
      () => leaves.every((name) => bundleOf(harness, name) === 1),
      'the end of the old authority',
    );
    expect(harness.secret(names.ca).metadata.annotations).toMatchObject({
      'svc.dev/rotate-ca-done': 'key seen in a log',
    });
    expect(Object.keys(harness.secret(names.ca).data ?? {}).sort()).toEqual(['bundle.crt', 'ca.crt', 'ca.key']);
  });

  test('takes a step by the time when it was stored if a lagging clock dated it, and at once if a person dates it so', async () => {
    await using harness = await startPlatform();
    const { metadata, data, ...rest } = harness.secret(names.ca);
    const old = harness.pem(names.ca, 'ca.crt');
    const now = harness.clock.now();
    const next = await createCa({ commonName: names.ca, now: now - 90 * 60_000 });
    const texts = { 'next.crt': next.cert, 'next.key': next.key, 'bundle.crt': next.cert + old };
    const encoded = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
    const stored = { ...rest, data: { ...data, ...Object.fromEntries(encoded) } };
    const dated = (ms: number) => ({ ...metadata, annotations: { 'svc.dev/next-since': new Date(ms).toISOString() } });
    const { manager } = metadata.managedFields![0]!;
    harness.server.put(secrets, { ...stored, metadata: dated(now - 90 * 60_000) }, manager!);
    // The scripted API server gives no times.
    const managedFields = harness
      .secret(names.ca)
      .metadata.managedFields!.map((entry) => ({ ...entry, time: new Date(now).toISOString() }));
    const byApiServer = { ...harness.secret(names.ca).metadata, managedFields };
    harness.server.put(secrets, { ...stored, metadata: byApiServer }, 'kubectl');
    await harness.passUntil(() => bundleOf(harness, names.queryTls) === 2, 'the new authority in the bundle');
    await harness.clock.advance(now + 3_599_000 - harness.clock.now());
    await harness.idle();
    expect(harness.pem(names.ca, 'ca.crt')).toBe(old);
    const { annotations } = dated(now - 80 * 60_000);
    const asked = harness.secret(names.ca);
    harness.server.put(secrets, { ...asked, metadata: { ...asked.metadata, annotations } }, 'kubectl');
    await harness.passUntil(() => harness.pem(names.ca, 'ca.crt') === next.cert, 'the change of the signer');
    expect(harness.clock.now()).toBeLessThan(now + 3_600_000);
  });

  test('leaves the date of a step as a person wrote it: were it rewritten, it would count as that of the operator', async () => {
    await using harness = await startPlatform();
    const { metadata, data, ...rest } = harness.secret(names.ca);
    const next = await createCa({ commonName: names.ca, now: harness.clock.now() });
    const texts = { 'next.crt': next.cert, 'next.key': next.key };
    const encoded = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
    const date = new Date(harness.clock.now() - 60_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const dated = { ...metadata, annotations: { 'svc.dev/next-since': date } };
    harness.server.put(
      secrets,
      { ...rest, metadata: dated, data: { ...data, ...Object.fromEntries(encoded) } },
      'kubectl',
    );
    await harness.passUntil(() => harness.pem(names.ca, 'bundle.crt').startsWith(next.cert), 'the new bundle');
    expect(harness.secret(names.ca).metadata.annotations).toEqual({ 'svc.dev/next-since': date });
  });

  test('does not sign with the key of another: nothing is written, and its status says so until the pair is restored', async () => {
    const trouble = new PlatformTrouble();
    await using harness = await startPlatform([], { trouble });
    const good = harness.secret(names.ca);
    const held = [names.queryTls, names.controllerTls, names.ca];
    for (const key of ['ca.key', 'ca.crt'] as const) {
      const other = await createCa({ commonName: names.ca, now: harness.clock.now() });
      const text = key === 'ca.key' ? other.key : other.cert;
      const edited = {
        ...harness.secret(names.ca),
        data: { ...good.data, [key]: Buffer.from(text).toString('base64') },
      };
      harness.server.put(secrets, edited, 'kubectl');
      const versions = held.map((name) => harness.secret(name).metadata.resourceVersion);
      await harness.passUntil(() => trouble.current, 'the trouble');
      expect(trouble.current?.message).toContain('ca.key is not the key of ca.crt in Secret svc-ca');
      await harness.clock.advance(60_000);
      await harness.idle();
      expect(held.map((name) => harness.secret(name).metadata.resourceVersion)).toEqual(versions);
      harness.server.put(secrets, { ...harness.secret(names.ca), data: good.data! }, 'kubectl');
      await harness.passUntil(() => !trouble.current, 'the end of the trouble');
    }
  });

  test('replaces a leaf whose key is another one', async () => {
    await using harness = await startPlatform();
    const [query, controller] = [harness.secret(names.queryTls), harness.secret(names.controllerTls)];
    const data = { ...query.data, 'tls.key': controller.data!['tls.key']! };
    harness.server.put(secrets, { ...query, data }, 'kubectl');
    await harness.passUntil(
      () => harness.pem(names.queryTls, 'tls.key') !== harness.pem(names.controllerTls, 'tls.key'),
      'a new key',
    );
    const leaf = new X509Certificate(harness.pem(names.queryTls, 'tls.crt'));
    expect(leaf.checkPrivateKey(createPrivateKey(harness.pem(names.queryTls, 'tls.key')))).toBe(true);
    expect(leaf.checkHost('svc-query.svc-system.svc')).toBeDefined();
  });

  test('is published without its key, for clients', async () => {
    await using harness = await startPlatform();
    const published = harness.server.storage.get(coreResources.configMaps, namespace, names.caBundle) as unknown as {
      data: Record<string, string>;
    };
    expect(published.data).toEqual({ 'ca.crt': harness.pem(names.ca, 'ca.crt') });
  });
});
