import { jest } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RE2JS } from 're2js';
import type { KubeObject } from '../../api/meta.ts';
import { clusterTrafficPolicies, trafficMonitors } from '../../api/v1alpha1/index.ts';
import { aborted } from '../../base/aborted.ts';
import { createLogger } from '../../base/logger.ts';
import { coreResources } from '../../kube/index.ts';
import { createCa, issueLeaf } from '../../net/ca.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import type { AdmissionVerdict } from '../../net/webhook/admission.ts';
import type { Converters } from '../../net/webhook/conversion.ts';
import { objectLabels, names } from '../../render/index.ts';
import { anObject, noFaults, runController, type ControllerHarness } from '../../testing/index.ts';
import { aMonitor, aPolicy } from '../../testing/capture/world.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { freePort } from '../../testing/free-port.ts';
import { until } from '../../testing/until.ts';
import { ClientCa } from './client-ca.ts';
import { fromApiServer, setupAdmission } from './setup.ts';
import { monitorValidator, policyValidator, type MaySeeMonitors } from './validators.ts';

const { clusterRoles, validatingWebhookConfigurations, services, networkPolicies } = coreResources;
const namespace = 'svc-system';
const policy = (spec: object, annotations: Record<string, string> = {}): KubeObject =>
  aPolicy('p', spec, { annotations }) as unknown as KubeObject;
const monitor = (spec: object): KubeObject => aMonitor('shop/m', spec) as unknown as KubeObject;
const ask = (object: KubeObject, oldObject?: KubeObject) => ({
  uid: 'u',
  operation: oldObject ? ('UPDATE' as const) : ('CREATE' as const),
  resource: { group: 'svc.dev', version: 'v1alpha1', resource: 'x' },
  name: 'x',
  namespace: undefined,
  username: 'anna',
  user: { username: 'anna' },
  dryRun: false,
  object,
  oldObject,
});
const silent = { overrides: { signals: { metrics: 'Disabled', spans: 'Disabled' } } };
const signal = new AbortController().signal;

describe('the validators', () => {
  const read = () => ({
    environment: { instrumentVersion: 'v0.10.0' },
    policies: [],
    monitors: [monitor({ selector: {} }) as never],
    namespaces: [{ name: 'shop', labels: {} }],
    nodes: [],
  });
  const clock = new FakeClock();
  const judgePolicy = policyValidator(read, clock, async (_user, namespace) => namespace === undefined);
  const verdict = async (object: KubeObject, old?: KubeObject): Promise<AdmissionVerdict> =>
    judgePolicy(ask(object, old), signal);

  test('a policy whose overrides would orphan monitors is refused, and the message names them', async () => {
    expect(await verdict(policy(silent))).toEqual({
      allowed: false,
      reason: 'Forbidden',
      message: expect.stringMatching(
        /without anything to capture: shop\/m \(overrides of p .*allow-orphans=true/,
      ) as unknown,
    });
  });

  test.each<[string, MaySeeMonitors | undefined, RegExp]>([
    ['named to users of its namespace', async (_user, namespace) => namespace === 'shop', /: shop\/m \(overrides/],
    [
      'not named to users who see only another namespace',
      async (_user, namespace) => namespace === 'zoo',
      /capture: kubectl svc diff names/,
    ],
    ['not named while reviews fail', () => Promise.reject(new Error('away')), /capture: kubectl svc diff names/],
    ['not named where the caller may be another than the API server', undefined, /capture: kubectl svc diff names/],
  ])('an orphaned monitor is %s', async (_who, maySee, message) => {
    const answer = await policyValidator(read, clock, maySee)(ask(policy(silent)), signal);
    expect(answer).toMatchObject({ allowed: false, message: expect.stringMatching(message) as unknown });
    const named = JSON.stringify(answer).includes('shop/m');
    expect(named).toBe(message.source.includes('shop'));
  });

  test('an API server that does not answer who may see a monitor delays the refusal by 1.5 s at most', async () => {
    const monitors = Array.from({ length: 12 }, (_, i) => aMonitor(`ns-${i}/m`, { selector: {} }));
    const namespaces = monitors.map(({ metadata }) => ({ name: metadata.namespace!, labels: {} }));
    const asked: (string | undefined)[] = [];
    const maySee: MaySeeMonitors = async (_user, namespace, signal) => {
      asked.push(namespace);
      if (namespace === undefined || namespace === 'ns-0') return namespace === 'ns-0';
      await aborted(signal);
      throw signal.reason;
    };
    const many = () => ({ ...read(), monitors, namespaces });
    let answer: AdmissionVerdict | undefined;
    const judged = Promise.resolve(policyValidator(many, clock, maySee)(ask(policy(silent)), signal));
    void judged.then((one) => (answer = one));
    await until('the reviews', async () => (await clock.advance(0), asked.length === 11));
    await clock.advance(1_499);
    expect(answer).toBeUndefined();
    await clock.advance(1);
    expect(await judged).toMatchObject({
      allowed: false,
      message: expect.stringMatching(/leave 12 TrafficMonitor.*: ns-0\/m \([^)]*\), 11 more;/) as string,
    });
  });

  test('the allow-orphans annotation turns the refusal into a warning', async () => {
    expect(await verdict(policy(silent, { 'svc.dev/allow-orphans': 'true' }))).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining('shop/m')],
    });
  });

  test('an update of an object with an unchanged spec, or of one that is being deleted, passes', async () => {
    expect(await verdict(policy(silent), policy(silent))).toEqual({ allowed: true });
    const going = policy(silent);
    going.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(await verdict(going, policy({}))).toEqual({ allowed: true });
  });

  test('a change is not refused for a stored value that a pattern, an enum or a range has ceased to admit', async () => {
    const stored = {
      capture: { mode: 'Former' },
      limits: { maxSeriesPerNode: 1e9, maxLabelValueLength: 1 },
      retention: { metrics: { size: '512Ki' } },
    };
    expect(await verdict(policy({ ...stored, paused: true }), policy(stored))).toEqual({ allowed: true });
    const old = { selector: {}, mode: 'Former', limits: { maxSeries: 1e12 }, sampling: { ratio: '7' } };
    expect(monitorValidator()(ask(monitor({ ...old, priority: 3 }), monitor(old)), signal)).toEqual({ allowed: true });
  });

  test('a selector that the schema cannot check is refused, and the message names the value', () => {
    const judge = monitorValidator();
    expect(judge(ask(monitor({ selector: { matchLabels: { app: 'a{b' } } })), signal)).toEqual({
      allowed: false,
      message: expect.stringMatching(/a\{b/) as string,
    });
    expect(judge(ask(monitor({ selector: { matchLabels: { app: 'a' } } })), signal)).toEqual({ allowed: true });
  });

  test('a too expensive autoscaling expression is refused when it is set, and warned of in later updates', () => {
    const judge = monitorValidator();
    const metrics = (expr: string) => ({
      selector: {},
      autoscaling: { metrics: [{ name: 'load', expr, resource: 'pods' as const }] },
    });
    const [costly, cheap] = [metrics('avg_over_time(x[30d])'), metrics('rate(x[1m])')];
    const message = expect.stringContaining('spec.autoscaling metric load: expr: one evaluation looks at') as string;
    expect(judge(ask(monitor(costly)), signal)).toEqual({ allowed: false, message });
    expect(judge(ask(monitor(costly), monitor(cheap)), signal)).toEqual({ allowed: false, message });
    expect(judge(ask(monitor(cheap), monitor(costly)), signal)).toEqual({ allowed: true });
    const other = monitor({ ...costly, priority: 3 });
    expect(judge(ask(other, monitor(costly)), signal)).toEqual({ allowed: true, warnings: [message] });
  });

  describe('let a path rewrite that is dear to compile', () => {
    const dear = (pattern: string) => ({ redaction: { paths: [{ pattern, replacement: '/u/*' }] } });
    const refusal = { allowed: false, message: expect.stringMatching(/paths\[0\]\.pattern: .* too large/) as string };

    test('pass where the stored policy was accepted with it', async () => {
      const spec = dear('/u/[\\p{L}\\p{N}_-]{1,64}');
      const stored = aPolicy('p', spec, { status: { lastAcceptedSpec: spec } });
      const judge = policyValidator(() => ({ ...read(), policies: [stored] }), clock);
      expect(await judge(ask(policy({ ...spec, paused: true }), policy(spec)), signal)).toEqual({ allowed: true });
    });

    test('not pass where only the review says so, and do not compile it', async () => {
      const spec = dear('/v/[\\p{L}\\p{N}_-]{1,64}');
      const claimed = aPolicy('p', spec, { status: { lastAcceptedSpec: spec } }) as unknown as KubeObject;
      const compile = jest.spyOn(RE2JS, 'compile');
      const answers = [await verdict(policy({ ...spec, paused: true }), policy(spec)), await verdict(claimed)];
      const compiled = compile.mock.calls.length;
      compile.mockRestore();
      expect(answers).toEqual([refusal, refusal]);
      expect(compiled).toBe(0);
    });
  });

  describe('asked by a caller that is not the API server, about a spec that no schema has checked', () => {
    test('refuse a pattern that is too long, and do not compile it', async () => {
      const compile = jest.spyOn(RE2JS, 'compile');
      const paths = [{ pattern: '.'.repeat(20_000), replacement: '' }];
      const answer = await verdict(policy({ redaction: { paths } }));
      const compiled = compile.mock.calls.length;
      compile.mockRestore();
      expect(answer).toEqual({
        allowed: false,
        message: 'spec.redaction.paths[0].pattern: has 20000 characters, at most 256 are allowed',
      });
      expect(compiled).toBe(0);
    });

    const metrics = (count: number, expr: string): KubeObject =>
      monitor({
        selector: {},
        autoscaling: { metrics: Array.from({ length: count }, () => ({ name: 'load', expr, resource: 'pods' })) },
      });

    test('refuse too many expressions, and do not read them', () => {
      expect(monitorValidator()(ask(metrics(1_000, '(')), signal)).toEqual({
        allowed: false,
        message: 'spec.autoscaling.metrics: has 1000 members, at most 20 are allowed',
      });
    });

    test('excuse no expression by an old object that the schema does not admit', () => {
      const costly = 'avg_over_time(x[30d])';
      const judge = monitorValidator();
      const changed = metrics(1, costly);
      (changed['spec'] as { priority?: number }).priority = 3;
      expect(judge(ask(changed, metrics(20, costly)), signal)).toMatchObject({ allowed: true });
      expect(judge(ask(changed, metrics(1_000, costly)), signal)).toMatchObject({ allowed: false });
    });

    test.each<[string, unknown, string]>([
      ['of another type', [], 'spec: must be an object, is a list'],
      ['that is absent', undefined, 'spec: must be an object, is undefined'],
      [
        'whose members are of other types',
        { redaction: { paths: {} } },
        'spec.redaction.paths: must be a list, is an object',
      ],
    ])('refuse a spec %s', async (_what, spec, message) => {
      const object = { ...policy({}), spec } as KubeObject;
      expect(await verdict(object)).toEqual({ allowed: false, message });
    });

    test('refuse a policy with a name that no object can have', async () => {
      const object = policy(silent);
      object.metadata.name = 'n'.repeat(1_000);
      expect(await verdict(object)).toEqual({
        allowed: false,
        message: 'metadata.name: has 1000 characters, at most 253 are allowed',
      });
    });
  });

  test('a metric of a kind that no series names is refused when it is set, and warned of in later updates', () => {
    const judge = monitorValidator();
    const metrics = (resource: string) => ({
      selector: {},
      autoscaling: { metrics: [{ name: 'rps', preset: 'RequestsPerSecond' as const, resource }] },
    });
    const [unknown, known] = [metrics('deployments'), metrics('deployments.apps')];
    const message = expect.stringContaining('metric rps: resource: no captured series names deployments;') as string;
    expect(judge(ask(monitor(unknown), monitor(known)), signal)).toEqual({ allowed: false, message });
    expect(judge(ask(monitor(known), monitor(unknown)), signal)).toEqual({ allowed: true });
    const other = monitor({ ...unknown, priority: 3 });
    expect(judge(ask(other, monitor(unknown)), signal)).toEqual({ allowed: true, warnings: [message] });
  });

  describe('a stored metric with a fault excuses no other one:', () => {
    const judge = monitorValidator();
    const [rps, load] = [
      { name: 'rps', expr: 'sum(x)', resource: 'deployments' },
      { name: 'load', expr: 'sum(', resource: 'pods' },
    ];
    const metrics = (...declared: object[]) => monitor({ selector: {}, autoscaling: { metrics: declared } });
    const fault = (start: string) => expect.stringContaining(`spec.autoscaling metric ${start}: `) as string;

    test.each<[string, object[], string]>([
      ['its expression that breaks is refused', [{ ...rps, expr: 'sum(' }, load], 'rps: expr'],
      ['its kind that becomes wrong is refused', [rps, { ...load, resource: 'nodes' }], 'load: resource'],
      ['a further metric of its kind is refused', [rps, load, { ...rps, name: 'more' }], 'more: resource'],
      ['a further metric with its expression is refused', [rps, load, { ...load, name: 'more' }], 'more: expr'],
      ['a metric that takes its name is refused for its own fault', [{ ...rps, name: 'load' }], 'load: resource'],
    ])('%s', (_what, declared, start) => {
      expect(judge(ask(metrics(...declared), metrics(rps, load)), signal)).toEqual({
        allowed: false,
        message: expect.stringMatching(new RegExp(`^spec\\.autoscaling metric ${start}: (?!.*; spec)`)) as string,
      });
    });

    test('both of its faults are warned of while they stay', () => {
      const both = { ...load, resource: 'deployments' };
      const verdict = judge(ask(metrics(both, { ...rps, resource: 'pods' }), metrics(both)), signal);
      expect(verdict).toEqual({ allowed: true, warnings: [fault('load: resource')] });
      expect(verdict).toEqual({ allowed: true, warnings: [fault('load: expr')] });
    });
  });
});

describe('the webhooks of the operator', () => {
  let harness: ControllerHarness | undefined;
  afterEach(async () => {
    await harness?.stop();
    harness = undefined;
  });
  const options = { server: { resources: [clusterTrafficPolicies, trafficMonitors] } };
  const settings = {
    environment: { instrumentVersion: 'v0.10.0' },
    namespace,
    bindAddress: '127.0.0.1',
    shutdownQuietMs: 0,
    url: '',
    clientCa: null,
    clientNames: [],
    converters: {},
  };

  test('are registered once there is a certificate, follow a rotation of the CA, and judge over TLS', async () => {
    const port = await freePort();
    const now = Date.now(); // TLS itself looks at the real clock
    const ca = await createCa({ commonName: 'svc-ca', now });
    const secret = async (bundle: string): Promise<KubeObject> => {
      const leaf = await issueLeaf(ca, { commonName: 'svc-controller', dnsNames: ['localhost'] }, { now });
      const data = { 'tls.crt': leaf.cert, 'tls.key': leaf.key, 'ca.crt': bundle };
      return anObject({
        kind: 'Secret',
        metadata: { name: names.controllerTls, namespace, labels: objectLabels('controller') },
        data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
      });
    };
    harness = await runController(
      (env) => setupAdmission(env, { ...settings, mode: 'fail-closed', port }),
      [
        anObject({ kind: 'Namespace', metadata: { name: 'shop' } }),
        { apiVersion: clusterRoles.apiVersion, kind: 'ClusterRole', metadata: { name: names.controller } },
      ],
      noFaults,
      options,
    );
    const { server, passUntil } = harness;
    const registration = (): KubeObject | undefined =>
      server.storage.find(validatingWebhookConfigurations, undefined, names.controller);
    await harness.idle();
    expect(registration()).toBeUndefined();
    server.put(coreResources.secrets, await secret(ca.cert));
    await passUntil(registration, 'the registration');
    const bundleOf = (): string =>
      Buffer.from(
        (registration()!['webhooks'] as { clientConfig: { caBundle: string } }[])[0]!.clientConfig.caBundle,
        'base64',
      ).toString();
    expect(bundleOf()).toBe(ca.cert);
    expect(registration()!['webhooks']).toMatchObject([
      { name: 'trafficmonitors.svc.dev', failurePolicy: 'Fail', sideEffects: 'None' },
      { name: 'clustertrafficpolicies.svc.dev', failurePolicy: 'Fail' },
    ]);
    const { uid } = server.storage.get(clusterRoles, undefined, names.controller).metadata;
    // With `fail-closed`, a registration that outlived the operator would block every change of a monitor.
    expect(registration()!.metadata.ownerReferences).toEqual([
      { apiVersion: clusterRoles.apiVersion, kind: 'ClusterRole', name: names.controller, uid },
    ]);
    const service = server.storage.get(services, namespace, names.webhook);
    const networkPolicy = server.storage.get(networkPolicies, namespace, names.webhook);
    for (const { metadata } of [service, networkPolicy]) expect(metadata.ownerReferences).toBeUndefined();
    // The API server reaches the listener through both, on whatever port it listens.
    expect(service['spec']).toMatchObject({ ports: [{ port: 443, targetPort: port }] });
    expect(networkPolicy['spec']).toMatchObject({ ingress: [{ ports: [{ port }] }] });
    let answer: string | undefined;
    await passUntil(() => harness!.manager.idle, 'the caches');
    const body = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: { ...ask(monitor({ selector: { matchLabels: { app: 'a{b' } } })), oldObject: null },
    };
    const send = (): void => {
      const req = httpsRequest(
        { host: 'localhost', port, path: '/validate/trafficmonitors', method: 'POST', ca: ca.cert, agent: false },
        (res) => res.setEncoding('utf8').on('data', (text: string) => (answer = (answer ?? '') + text)),
      );
      req.on('error', () => {});
      req.end(JSON.stringify(body));
    };
    await passUntil(() => {
      if (answer === undefined) send();
      return answer;
    }, 'the verdict');
    expect(answer).toContain('"allowed":false');
    expect(await harness.manager.metricsText()).toMatch(
      /controller_runtime_webhook_requests_total\{webhook="\/validate\/trafficmonitors",code="200"\} [1-9]/,
    );
    const text = await harness.manager.metricsText();
    expect(text).toContain('certwatcher_read_certificate_total 1');
    expect(text).toContain('certwatcher_read_certificate_errors_total 0');
    const other = await createCa({ commonName: 'svc-ca', now });
    server.put(coreResources.secrets, await secret(ca.cert + other.cert));
    await passUntil(() => bundleOf() === ca.cert + other.cert, 'the new bundle');
  });

  test('are not registered again while the installation is being removed', async () => {
    const now = Date.now(); // TLS itself looks at the real clock
    const ca = await createCa({ commonName: 'svc-ca', now });
    const leaf = await issueLeaf(ca, { commonName: 'svc-controller', dnsNames: ['localhost'] }, { now });
    const data = { 'tls.crt': leaf.cert, 'tls.key': leaf.key, 'ca.crt': ca.cert };
    const { apiVersion } = clusterRoles;
    harness = await runController(
      (env) => setupAdmission(env, { ...settings, mode: 'fail-closed', port: 0 }),
      [
        anObject({
          kind: 'Secret',
          metadata: { name: names.controllerTls, namespace, labels: objectLabels('controller') },
          data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
        }),
        { apiVersion, kind: 'ClusterRole', metadata: { name: names.controller, finalizers: ['foregroundDeletion'] } },
      ],
      noFaults,
      options,
    );
    const { server, passUntil } = harness;
    const registration = (): KubeObject | undefined =>
      server.storage.find(validatingWebhookConfigurations, undefined, names.controller);
    await passUntil(registration, 'the registration');
    server.storage.remove(clusterRoles, undefined, names.controller);
    server.storage.remove(validatingWebhookConfigurations, undefined, names.controller);
    const looked = (): number => server.seen({ verb: 'get', plural: 'clusterroles' }).length;
    const before = looked();
    await passUntil(() => looked() > before + 1, 'two more looks');
    expect(registration()).toBeUndefined();
  });

  test('convert objects of a kind with two versions, even with admission off, and are put in the CRD', async () => {
    const port = await freePort();
    const now = Date.now(); // TLS itself looks at the real clock
    const ca = await createCa({ commonName: 'svc-ca', now });
    const leaf = await issueLeaf(ca, { commonName: 'svc-controller', dnsNames: ['localhost'] }, { now });
    const encoded = (text: string): string => Buffer.from(text).toString('base64');
    const certificate = anObject({
      kind: 'Secret',
      metadata: { name: names.controllerTls, namespace, labels: objectLabels('controller') },
      data: { 'tls.crt': encoded(leaf.cert), 'tls.key': encoded(leaf.key), 'ca.crt': encoded(ca.cert) },
    });
    const definition = anObject({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'trafficmonitors.svc.dev' },
      spec: { group: 'svc.dev', conversion: { strategy: 'Webhook' } },
    });
    delete definition.metadata.namespace;
    const converters: Converters = { 'svc.dev/TrafficMonitor': { v1: { v2: (o) => o }, v2: { v1: (o) => o } } };
    // The caches do not fill: the lists of monitors wait for conversion.
    const filled = Promise.withResolvers<void>();
    harness = await runController(
      (env) => setupAdmission(env, { ...settings, converters, mode: 'off', port }),
      [certificate, definition],
      (server) => server.script({ plural: 'trafficmonitors' }, { do: 'hold', until: filled.promise }, 100),
      options,
    );
    const { server, passUntil } = harness;
    const review = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      request: { uid: 'c', desiredAPIVersion: 'svc.dev/v2', objects: [{ ...monitor({}), apiVersion: 'svc.dev/v1' }] },
    };
    let answer = '';
    await passUntil(() => {
      const target = { host: 'localhost', port, path: '/convert', method: 'POST', ca: ca.cert, agent: false };
      const req = httpsRequest(target, (res) => res.setEncoding('utf8').on('data', (text: string) => (answer += text)));
      req.on('error', () => {}).end(JSON.stringify(review));
      return answer;
    }, 'the conversion');
    expect(answer).toContain('"apiVersion":"svc.dev/v2"');
    const stored = (): KubeObject =>
      server.storage.get(coreResources.customResourceDefinitions, undefined, 'trafficmonitors.svc.dev');
    expect(stored()['spec']).toEqual(definition['spec']);
    filled.resolve();
    const conversion = {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: {
          caBundle: encoded(ca.cert),
          service: { namespace, name: names.webhook, path: '/convert', port: 443 },
        },
      },
    };
    await passUntil(() => JSON.stringify(stored()['spec']).includes('caBundle'), 'the bundle');
    expect(stored()['spec']).toEqual({ group: 'svc.dev', conversion });
    expect(server.storage.find(services, namespace, names.webhook)).toBeDefined();
    expect(server.storage.find(validatingWebhookConfigurations, undefined, names.controller)).toBeUndefined();
    server.put(coreResources.customResourceDefinitions, definition);
    await passUntil(() => JSON.stringify(stored()['spec']).includes('caBundle'), 'the bundle that was taken out');
  });

  test('are removed when they are switched off', async () => {
    const labels = { ...objectLabels('controller'), 'svc.dev/admission': 'true' };
    const left = anObject({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: names.controller, labels },
    });
    delete left.metadata.namespace;
    harness = await runController(
      (env) => setupAdmission(env, { ...settings, mode: 'off', port: 0 }),
      [left],
      noFaults,
      options,
    );
    const { server } = harness;
    await harness.passUntil(
      () => !server.storage.find(validatingWebhookConfigurations, undefined, names.controller),
      'the removal',
    );
  });
});

describe('where the API server presents a client certificate', () => {
  test.each<[string, 'none' | 'api' | 'other' | 'foreign', readonly string[], number]>([
    ['no certificate is refused', 'none', [], 403],
    ['a certificate of the trusted authority is accepted while no names are listed', 'api', [], 200],
    ['a certificate of the trusted authority with a listed name is accepted', 'api', ['kube-apiserver'], 200],
    ['a certificate of the trusted authority with an unlisted name is refused', 'other', ['kube-apiserver'], 403],
    ['a certificate of another authority is refused', 'foreign', [], 403],
  ])('a caller with %s', async (_what, shown, clientNames, status) => {
    const now = Date.now(); // TLS itself looks at the real clock
    const ca = (commonName: string) => createCa({ commonName, now });
    const [serving, clients, foreign] = await Promise.all([ca('serving'), ca('clients'), ca('clients')]);
    const leafOf = (authority: typeof serving, commonName: string) =>
      issueLeaf(authority, { commonName, dnsNames: ['localhost'] }, { now });
    const own = await leafOf(serving, 'svc-controller');
    const clientCa = { ca: clients.cert, onChange: () => () => {} };
    const handler = fromApiServer({ clientCa, clientNames }, (_req, res) => void res.end('{}'));
    const source = { current: { ...own, ca: serving.cert }, generation: 0, onChange: () => () => {} };
    const server = createTlsServer(source, handler, { clients: clientCa });
    const port = await listen('webhook', server, { host: '127.0.0.1', port: 0 });
    const shows = {
      none: undefined,
      api: await leafOf(clients, 'kube-apiserver'),
      other: await leafOf(clients, 'anna'),
      foreign: await leafOf(foreign, 'kube-apiserver'),
    }[shown];
    const answered = await new Promise<number | undefined>((resolve, reject) => {
      const target = { host: 'localhost', port, ca: serving.cert, agent: false, method: 'POST', path: '/' };
      const identity = shows ? { cert: shows.cert, key: shows.key } : {};
      const req = httpsRequest({ ...target, ...identity }, (res) => resolve(res.resume().statusCode));
      req.on('error', reject).end('{}');
    });
    expect(answered).toBe(status);
    await closeServer(server, 0);
  });
});

describe('the authorities of the API server’s certificate', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'client-ca-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  test('are reloaded when their file changes; a bad file leaves the last good ones in use', async () => {
    const file = join(dir, 'ca.crt');
    const clock = new FakeClock();
    const pem = async (commonName: string): Promise<string> => (await createCa({ commonName, now: clock.now() })).cert;
    const [first, second] = await Promise.all([pem('one'), pem('two')]);
    await writeFile(file, first);
    const trust = new ClientCa(file);
    const seen: string[] = [];
    trust.onChange(() => seen.push(trust.ca));
    const lines: string[] = [];
    const stop = new AbortController();
    const logger = createLogger({ write: (line) => void lines.push(line) });
    trust.follow({ clock, logger, signal: stop.signal });
    await writeFile(file, 'no certificate');
    await until('the refusal', () => clock.advance(5_000).then(() => lines.length > 0));
    expect([trust.ca, seen, lines[0]]).toEqual([first, [], expect.stringContaining('the last good ones stay')]);
    await writeFile(file, `${first}${second}`);
    await until('the new authority', () => clock.advance(5_000).then(() => seen.length > 0));
    expect(seen).toEqual([`${first}${second}`]);
    stop.abort();
  });

  test('must be there at the start', () => {
    expect(() => new ClientCa(join(dir, 'none'))).toThrow(/^--admission-client-ca-file .*none: .*ENOENT/);
  });
});
