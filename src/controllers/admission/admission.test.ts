import { request as httpsRequest } from 'node:https';
import type { KubeObject } from '../../api/meta.ts';
import { clusterTrafficPolicies, trafficMonitors } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import { createCa, issueLeaf } from '../../net/ca.ts';
import type { AdmissionVerdict } from '../../net/webhook/admission.ts';
import { objectLabels, names } from '../../render/index.ts';
import { anObject, noFaults, runController, type ControllerHarness } from '../../testing/index.ts';
import { freePort } from '../../testing/free-port.ts';
import { setupAdmission } from './setup.ts';
import { monitorValidator, policyValidator } from './validators.ts';

const { validatingWebhookConfigurations, services, networkPolicies } = coreResources;
const namespace = 'svc-system';
const policy = (spec: object, annotations: Record<string, string> = {}): KubeObject =>
  anObject({
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'ClusterTrafficPolicy',
    metadata: { name: 'p', annotations },
    spec,
  });
const monitor = (spec: object): KubeObject =>
  anObject({
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'TrafficMonitor',
    metadata: { name: 'm' },
    spec: { mode: 'Capture', ...spec },
  });
const ask = (object: KubeObject, oldObject?: KubeObject) => ({
  uid: 'u',
  operation: oldObject ? ('UPDATE' as const) : ('CREATE' as const),
  resource: { group: 'svc.dev', version: 'v1alpha1', resource: 'x' },
  name: 'x',
  namespace: undefined,
  username: 'anna',
  dryRun: false,
  object,
  oldObject,
});
const silent = { overrides: { signals: { metrics: 'Disabled', spans: 'Disabled' } } };
const signal = new AbortController().signal;

describe('the validators', () => {
  const judgePolicy = policyValidator(() => ({
    environment: { instrumentVersion: 'v0.10.0' },
    policies: [],
    monitors: [monitor({ selector: {} }) as never],
    namespaces: [{ name: 'shop', labels: {} }],
    nodes: [],
  }));
  const verdict = (object: KubeObject, old?: KubeObject): AdmissionVerdict =>
    judgePolicy(ask(object, old), signal) as AdmissionVerdict;

  test('a policy whose overrides would orphan monitors is refused, and told which', () => {
    expect(verdict(policy(silent))).toEqual({
      allowed: false,
      reason: 'Forbidden',
      message: expect.stringMatching(
        /without anything to capture: shop\/m \(overrides of p .*allow-orphans=true/,
      ) as unknown,
    });
  });

  test('who means it gets a warning instead', () => {
    expect(verdict(policy(silent, { 'svc.dev/allow-orphans': 'true' }))).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining('shop/m')],
    });
  });

  test('a change that leaves the spec alone passes, and so does one on the way out', () => {
    expect(verdict(policy(silent), policy(silent))).toEqual({ allowed: true });
    const going = policy(silent);
    going.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(verdict(going, policy({}))).toEqual({ allowed: true });
  });

  test('what no schema can tell is refused in its own words', () => {
    const judge = monitorValidator();
    expect(judge(ask(monitor({ selector: { matchLabels: { app: 'a{b' } } })), signal)).toMatchObject({
      allowed: false,
    });
    expect(judge(ask(monitor({ selector: { matchLabels: { app: 'a' } } })), signal)).toEqual({ allowed: true });
  });
});

describe('the webhooks of the operator', () => {
  let harness: ControllerHarness | undefined;
  afterEach(async () => {
    await harness?.stop();
    harness = undefined;
  });
  const options = { server: { resources: [clusterTrafficPolicies, trafficMonitors] } };
  const settings = { environment: { instrumentVersion: 'v0.10.0' }, namespace, bindAddress: '127.0.0.1', url: '' };

  test('are registered with the CA once there is a certificate, follow its rotation, and judge over TLS', async () => {
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
      [anObject({ kind: 'Namespace', metadata: { name: 'shop' } })],
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
    expect(server.storage.find(services, namespace, names.webhook)).toBeDefined();
    expect(server.storage.find(networkPolicies, namespace, names.webhook)).toBeDefined();
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

  test('are taken away where they are switched off', async () => {
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
