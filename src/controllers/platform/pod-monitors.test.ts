import { resourceRef, type KubeObject } from '../../api/meta.ts';
import { coreResources } from '../../kube/index.ts';
import { names, platformDefaults, renderedKinds } from '../../render/index.ts';
import { StatusError } from '../../testing/fake-api-server/index.ts';
import { startPlatform, type PlatformHarness } from '../../testing/operator/platform-world.ts';

const { secrets } = coreResources;
const { namespace } = platformDefaults;

test('a PodMonitor or ServiceMonitor is created once the cluster has its CRD', async () => {
  const [podMonitors, serviceMonitors] = [
    resourceRef(renderedKinds.PodMonitor),
    resourceRef(renderedKinds.ServiceMonitor),
  ];
  await using harness = await startPlatform([], { served: [podMonitors, serviceMonitors] });
  expect(harness.server.storage.find(podMonitors, namespace, names.agent)).toBeUndefined();
  const crd = (plural: string): KubeObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.monitoring.coreos.com` },
  });
  harness.server.put(coreResources.customResourceDefinitions, crd('podmonitors'));
  await harness.passUntil(() => harness.server.storage.find(podMonitors, namespace, names.agent), 'the pod monitor');
  expect(harness.server.storage.find(serviceMonitors, namespace, names.query)).toBeUndefined();
  expect(harness.server.storage.find(secrets, namespace, names.scraperToken)).toBeDefined();
});

describe('PodMonitors in a cluster that has their CRD', () => {
  const podMonitors = resourceRef(renderedKinds.PodMonitor);
  const crd: KubeObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'podmonitors.monitoring.coreos.com' },
  };
  const monitorOf = (harness: PlatformHarness) => harness.server.storage.find(podMonitors, namespace, names.agent);
  const intervalOf = (object: KubeObject | undefined) =>
    (object as { spec?: { podMetricsEndpoints: { interval: string }[] } } | undefined)?.spec?.podMetricsEndpoints[0]
      ?.interval;

  test('are repaired on the event of an edit or deletion, and not written while nothing differs', async () => {
    await using harness = await startPlatform([crd], { served: [podMonitors] });
    const monitor = () => monitorOf(harness);
    await harness.passUntil(monitor, 'the pod monitor');
    await harness.idle();
    const applied = () => harness.server.seen({ plural: 'podmonitors', verb: 'apply' }).length;
    const before = applied();
    harness.server.storage.remove(coreResources.services, namespace, names.agent);
    await harness.passUntil(
      () => harness.server.storage.find(coreResources.services, namespace, names.agent),
      'another reconcile',
    );
    await harness.idle();
    expect(applied()).toBe(before);

    harness.server.put(podMonitors, { ...monitor()!, spec: { podMetricsEndpoints: [{ interval: '5m' }] } });
    await harness.passUntil(() => intervalOf(monitor()) === '30s', 'the repair of the edit');
    harness.server.storage.remove(podMonitors, namespace, names.agent);
    await harness.passUntil(monitor, 'the repair of the deletion');
  });

  test('are no longer written once their kind is gone, without an error', async () => {
    await using harness = await startPlatform([crd], { served: [podMonitors] });
    const monitor = () => monitorOf(harness);
    await harness.passUntil(monitor, 'the pod monitor');
    const gone = new StatusError(404, 'NotFound', 'the server could not find the requested resource');
    harness.server.script((request) => request.path.includes('/podmonitors'), { do: 'fail', error: gone }, Infinity);
    for (const watch of harness.server.openWatches()) if (watch.resource.plural === 'podmonitors') watch.end();
    const asked = () => harness.server.requests.filter((r) => r.path.includes('/podmonitors') && r.method === 'PATCH');
    // The CRD is still there, so the operator tries once more to apply the monitor.
    const before = asked().length;
    harness.server.storage.remove(podMonitors, namespace, names.agent);
    await harness.passUntil(() => asked().length > before, 'the try');
    harness.server.storage.remove(coreResources.customResourceDefinitions, undefined, crd.metadata.name!);
    await harness.idle();
    // From now on a reconcile writes everything but the monitor.
    const last = asked().length;
    harness.server.storage.remove(coreResources.services, namespace, names.agent);
    await harness.passUntil(
      () => harness.server.storage.find(coreResources.services, namespace, names.agent),
      'the repair of another child',
    );
    await harness.idle();
    expect(asked()).toHaveLength(last);
    expect(monitor()).toBeUndefined();
    expect(harness.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
