import { resourceRef, type KubeObject } from '../../api/meta.ts';
import { coreResources } from '../../kube/index.ts';
import { names, platformDefaults, renderedKinds } from '../../render/index.ts';
import { StatusError } from '../../testing/fake-api-server/index.ts';
import { policyObject, startPlatform, type PlatformHarness } from '../../testing/operator/platform-world.ts';

const { namespace } = platformDefaults;

describe('custom metrics', () => {
  const apiService = (version: string, service: object): KubeObject => ({
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `${version}.custom.metrics.k8s.io` },
    spec: { group: 'custom.metrics.k8s.io', version, service },
  });
  const { apiServices } = coreResources;
  const stored = (harness: PlatformHarness, version: string) =>
    harness.server.storage.find(apiServices, undefined, `${version}.custom.metrics.k8s.io`)?.['spec'] as
      { caBundle?: string; service: { name: string } } | undefined;

  const queryAnswers = (harness: PlatformHarness, answers: boolean): void => {
    const conditions = [{ type: 'Available', status: answers ? 'True' : 'False' }];
    harness.server.putStatus(coreResources.deployments, namespace, names.query, { conditions });
  };

  test('are registered with our CA bundle once the query server answers, and stay so when it stops', async () => {
    await using harness = await startPlatform([policyObject('default', {})], { customMetrics: 'auto' });
    await harness.passUntil(() => harness.conditionOf('default', 'CustomMetricsAvailable'), 'the condition');
    expect(harness.conditionOf('default', 'CustomMetricsAvailable')).toMatchObject({
      status: 'False',
      reason: 'Unavailable',
    });
    expect(stored(harness, 'v1beta1')).toBeUndefined();
    queryAnswers(harness, true);
    await harness.passUntil(() => stored(harness, 'v1beta2'), 'the registration');
    expect(Buffer.from(stored(harness, 'v1beta1')!.caBundle!, 'base64').toString()).toBe(
      harness.pem(names.ca, 'ca.crt'),
    );
    queryAnswers(harness, false);
    await harness.idle();
    expect(stored(harness, 'v1beta1')).toBeDefined();
  });

  test('are not registered while the query server may not read the CAs of its callers, even if its pods are ready', async () => {
    await using harness = await startPlatform([policyObject('default', {})], { customMetrics: 'auto' });
    const { storage } = harness.server;
    const apply = storage.apply.bind(storage);
    storage.apply = (resource, wanted, meta) => {
      if (wanted.metadata.name !== names.authReader) return apply(resource, wanted, meta);
      throw new StatusError(403, 'Forbidden', 'kube-system is managed');
    };
    storage.remove(resourceRef(renderedKinds.RoleBinding), 'kube-system', names.authReader);
    queryAnswers(harness, true);
    await harness.passUntil(
      () => harness.conditionOf('default', 'CustomMetricsAvailable')?.message.includes(names.authReader),
      'the condition',
    );
    expect(stored(harness, 'v1beta2')).toBeUndefined();
    storage.apply = apply;
    await harness.passUntil(() => stored(harness, 'v1beta2'), 'the registration');
  });

  test("are left to another server until that server's registration is removed, and a condition says so", async () => {
    const foreign = apiService('v1beta1', { name: 'prometheus-adapter', namespace: 'monitoring' });
    await using harness = await startPlatform([foreign, policyObject('default', {})], { customMetrics: 'auto' });
    await harness.passUntil(
      () => harness.conditionOf('default', 'CustomMetricsAvailable')?.reason === 'ForeignAPIService',
      'the condition',
    );
    expect(stored(harness, 'v1beta1')?.service.name).toBe('prometheus-adapter');
    expect(stored(harness, 'v1beta2')).toBeUndefined();
    queryAnswers(harness, true);
    harness.server.storage.remove(apiServices, undefined, 'v1beta1.custom.metrics.k8s.io');
    await harness.passUntil(() => stored(harness, 'v1beta1')?.service.name === 'svc-query', 'our own registration');
  });

  test('are taken over with force once the query server answers', async () => {
    const foreign = apiService('v1beta1', { name: 'prometheus-adapter', namespace: 'monitoring' });
    await using harness = await startPlatform([foreign], { customMetrics: 'force' });
    expect(stored(harness, 'v1beta1')?.service.name).toBe('prometheus-adapter');
    queryAnswers(harness, true);
    await harness.passUntil(() => stored(harness, 'v1beta1')?.service.name === 'svc-query', 'the takeover');
  });

  test('are taken over with force from a server whose certificate nobody verifies', async () => {
    const foreign = apiService('v1beta1', { name: 'prometheus-adapter', namespace: 'monitoring' });
    Object.assign(foreign['spec'] as object, { insecureSkipTLSVerify: true });
    await using harness = await startPlatform([foreign], { customMetrics: 'force' });
    const { storage } = harness.server;
    const apply = storage.apply.bind(storage);
    storage.apply = (resource, wanted, meta) => {
      const { name } = wanted.metadata;
      const before = storage.find(resource, undefined, name!)?.['spec'] as typeof spec;
      const spec = wanted['spec'] as { insecureSkipTLSVerify?: boolean; caBundle?: string } | undefined;
      if (wanted.kind === 'APIService' && (spec?.insecureSkipTLSVerify ?? before?.insecureSkipTLSVerify)) {
        throw new StatusError(
          422,
          'Invalid',
          `APIService ${name} is invalid: spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present`,
        );
      }
      return apply(resource, wanted, meta);
    };
    queryAnswers(harness, true);
    await harness.passUntil(() => stored(harness, 'v1beta1')?.service.name === 'svc-query', 'the takeover');
    await harness.passUntil(() => stored(harness, 'v1beta2'), 'the other version');
    await harness.idle();
    const applied = () => harness.server.seen({ plural: 'apiservices', verb: 'apply' }).length;
    const before = applied();
    storage.remove(coreResources.services, namespace, names.agent);
    await harness.passUntil(() => storage.find(coreResources.services, namespace, names.agent), 'another reconcile');
    await harness.idle();
    expect(applied()).toBe(before);
  });
});
