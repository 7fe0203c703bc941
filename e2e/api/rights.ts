import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { partRights, platformDefaults, renderMinter, renderPlatform, type Right } from '../../src/render/index.ts';
import { aMinterDeployment } from '../../src/testing/builders/minter-deployment.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { until } from '../../src/testing/until.ts';
import { installMonitorKinds } from './install.ts';
import { repository } from '../install/tools.ts';

let cluster: Cluster;
const asController = [
  '--as=system:serviceaccount:svc-system:svc-controller',
  ...['--as-group=system:serviceaccounts', '--as-group=system:authenticated'],
];

const apply = (objects: readonly object[]) =>
  cluster.kubectl(['apply', '--server-side', '--field-manager=svc-controller/test', '-f', '-', ...asController], {
    stdin: objects.map((object) => JSON.stringify(object)).join('\n'),
  });

/** Whether a service account of the product may do what `question` says, in the format of `can`. */
const mayI = (name: string, question: string): Promise<boolean> => can(question, serviceAccount('svc-system', name));

/** The user and groups of a request. */
interface Caller {
  readonly user: string;
  readonly groups: readonly string[];
}
const serviceAccount = (namespace: string, name: string): Caller => ({
  user: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
});
const person = (user: string): Caller => ({ user, groups: ['system:authenticated'] });

/**
 * Answers as `kubectl auth can-i` does, without running kubectl.
 * Shape: `verb resource.group/name`, in the namespace `default` unless `-n other` or `-A` follows, and for a
 * subresource with `--subresource=part`; or `verb /path`.
 */
function can(question: string, caller: Caller): Promise<boolean> {
  const [verb = '', what = '', ...flags] = question.split(' ');
  if (what.startsWith('/')) return isAllowed({ ...caller, nonResourceAttributes: { verb, path: what } });
  const { values } = parseArgs({
    args: flags,
    options: {
      namespace: { type: 'string', short: 'n', default: 'default' },
      all: { type: 'boolean', short: 'A', default: false },
      subresource: { type: 'string', default: '' },
    },
  });
  const [, resource, group = '', name = ''] = /^([a-z]+)(?:\.([^/]+))?(?:\/(.+))?$/.exec(what)!;
  const namespace = values.all ? '' : values.namespace;
  const { subresource } = values;
  return isAllowed({ ...caller, resourceAttributes: { verb, group, resource, subresource, name, namespace } });
}

/** The API server's own answer. */
async function isAllowed(spec: object): Promise<boolean> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  return (await cluster.api.request<{ status: { allowed: boolean } }>('POST', path, review)).status.allowed;
}

/** Tests the rights that an installation gives: enough for the work of each part, and for nothing else. */
export function rights(of: () => Cluster): void {
  beforeAll(async () => {
    cluster = of();
    await cluster.kubectl(['apply', '--server-side', '-f', join(repository, 'config/samples/namespaces.yaml')]);
    await cluster.kubectl(['apply', '--server-side', '-f', join(repository, 'manifests/install.yaml')]);
    await cluster.kubectl(['apply', '--server-side', '-f', join(repository, 'config/minter/rights.yaml')]);
    await installMonitorKinds(cluster);
    await apply(renderPlatform(platformDefaults));
  });

  describe('the operator', () => {
    test('may apply all that it renders, apply it again, and delete it', async () => {
      const minter = aMinterDeployment();
      const ownerless = renderMinter({ minter, operatorNamespace: 'svc-system' }).map((object) => ({
        ...object,
        metadata: { ...object.metadata, ownerReferences: [] },
      }));
      await apply(ownerless);
      await apply(renderPlatform({ ...platformDefaults, queryReplicas: 3 }));
      const caBundle = '-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n';
      const monitors = { pod: true, service: true };
      const everything = renderPlatform({
        ...platformDefaults,
        caBundle,
        customMetrics: { register: true },
        externalMetrics: { register: true },
        monitors,
      });
      // The server would refuse APIServices, as this CA bundle holds no certificate: only the rights are checked.
      await apply(everything.filter(({ kind }) => kind !== 'APIService'));
      for (const verb of ['create', 'patch', 'delete'])
        expect(
          await mayI('svc-controller', `${verb} apiservices.apiregistration.k8s.io/v1beta1.custom.metrics.k8s.io`),
        ).toBe(true);
      const stdin = ownerless.map((object) => JSON.stringify(object)).join('\n');
      await cluster.kubectl(['delete', '--wait=false', '-f', '-', ...asController], { stdin });
    });

    test('may not write roles other than its own, nor bind them', async () => {
      const other = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'other' },
        rules: [],
      };
      await expect(apply([other])).rejects.toThrow(/forbidden/i);
      const admin = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'svc-controller-admin' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [],
      };
      await expect(apply([admin])).rejects.toThrow(/forbidden/i);
    });

    test.each([
      'watch trafficmonitors.svc.dev -A',
      'patch minterdeployments.svc.dev --subresource=status -A',
      'list pods -A',
      'update leases.coordination.k8s.io -n svc-system',
      'update secrets -n svc-system',
      'create events.events.k8s.io -n shop',
      'get secrets/vcs-app-credentials -n platform-agent',
      'patch deployments.apps -n platform-agent',
      'patch configmaps -n svc-system',
      'create tokenreviews.authentication.k8s.io',
    ])('may %s', async (args) => {
      expect(await mayI('svc-controller', args)).toBe(true);
    });

    test.each([
      'list secrets -A',
      'get secrets -n shop',
      'get secrets/other -n platform-agent',
      'patch deployments.apps -n shop',
      'create configmaps -n shop',
      'delete services -n kube-system',
      'patch networkpolicies.networking.k8s.io -n shop',
      'create serviceaccounts -n shop',
      'patch trafficmonitors.svc.dev -A',
      'create secrets -n platform-agent',
      'create pods -n svc-system',
      'create pods -n svc-system --subresource=exec',
      'delete nodes',
      'patch apiservices.apiregistration.k8s.io/v1.apps',
      'create rolebindings.rbac.authorization.k8s.io -n kube-system',
      'bind roles.rbac.authorization.k8s.io/system::leader-locking-kube-scheduler -n kube-system',
      'patch podmonitors.monitoring.coreos.com -n shop',
      'delete trafficmonitors.svc.dev -A',
      'update customresourcedefinitions.apiextensions.k8s.io',
      'create daemonsets.apps -n shop',
      'impersonate users',
      'bind clusterroles.rbac.authorization.k8s.io/cluster-admin',
      'escalate clusterroles.rbac.authorization.k8s.io/svc-controller',
    ])('may not %s', async (args) => {
      expect(await mayI('svc-controller', args)).toBe(false);
    });
  });

  describe.each([
    [
      'svc-agent',
      ['watch pods -A', 'list replicasets.apps -A', 'create tokenreviews.authentication.k8s.io'],
      ['get secrets -n svc-system', 'list trafficmonitors.svc.dev -A', 'get /metrics'],
    ],
    [
      'svc-query',
      // Autoscalers select workloads by label, but series have only namespace and pod: hence the lists of workloads.
      [
        'list nodes',
        'watch daemonsets.apps -n svc-system',
        'create subjectaccessreviews.authorization.k8s.io',
        'list replicasets.apps -A',
      ],
      ['watch replicasets.apps -A', 'get secrets -n svc-system', 'create pods -n svc-system'],
    ],
  ])('%s', (name, allowed, denied) => {
    test.each(allowed)('may %s', async (args) => expect(await mayI(name, args)).toBe(true));
    test.each(denied)('may not %s', async (args) => expect(await mayI(name, args)).toBe(false));
  });

  describe.each([
    ['svc-agent', { 'svc-agent': partRights.agent }],
    ['svc-query', { 'svc-query': partRights.query, 'svc-query-custom-metrics': partRights.customMetrics }],
  ])('%s', (name, roles: Readonly<Record<string, readonly Right[]>>) => {
    const subject = { kind: 'ServiceAccount', name, namespace: 'svc-system' };

    test('has each right of docs/reference/rights.md', async () => {
      const lists = Object.values(roles).flat();
      const questions = lists.flatMap(({ rule: { apiGroups, resources, resourceNames = [''], verbs } }) =>
        apiGroups!.flatMap((group) =>
          resources!.flatMap((resource) =>
            resourceNames.flatMap((of) => verbs.map((verb) => ({ group, resource, name: of, verb }))),
          ),
        ),
      );
      const refused: object[] = [];
      await Promise.all(
        questions.map(async (resourceAttributes) => {
          const user = `system:serviceaccount:svc-system:${name}`;
          if (!(await isAllowed({ user, resourceAttributes }))) refused.push(resourceAttributes);
        }),
      );
      expect([questions.length > 8, refused]).toEqual([true, []]);
    });

    test('has no other roles, except those of the API server for aggregated APIs', async () => {
      interface Binding {
        roleRef: { name: string };
        subjects?: object[];
      }
      const bound = async (kind: string): Promise<string[]> => {
        const path = `/apis/rbac.authorization.k8s.io/v1/${kind}`;
        const { items } = await cluster.api.request<{ items: Binding[] }>('GET', path);
        return items
          .filter(({ subjects = [] }) => subjects.some((one) => isDeepStrictEqual(one, subject)))
          .map(({ roleRef }) => roleRef.name);
      };
      const found = [...(await bound('clusterrolebindings')), ...(await bound('rolebindings'))];
      const ofApiServer = ['system:auth-delegator', 'extension-apiserver-authentication-reader'];
      expect(found.filter((role) => !ofApiServer.includes(role)).toSorted()).toEqual(Object.keys(roles).toSorted());
    });
  });

  test.each([
    ['view', ['list', 'watch'], ['create', 'delete']],
    ['edit', ['list', 'create', 'patch', 'deletecollection'], []],
  ])(
    'the role %s in a namespace includes the monitors and minters of this namespace, and of no other',
    async (role, allowed, denied) => {
      const user = `${role}er`;
      await cluster.kubectl(['-n', 'shop', 'create', 'rolebinding', user, `--clusterrole=${role}`, `--user=${user}`]);
      const may = (verb: string, kind: string, namespace: string): Promise<boolean> =>
        can(`${verb} ${kind}.svc.dev -n ${namespace}`, person(user));
      for (const kind of ['trafficmonitors', 'minterdeployments']) {
        // The controller manager takes a moment to aggregate our rules into the built-in roles.
        for (const verb of allowed) await until(`${verb} ${kind}`, () => may(verb, kind, 'shop'));
        const others = await Promise.all(denied.map((verb) => may(verb, kind, 'shop')));
        expect(others).toEqual(denied.map(() => false));
        expect(await may(allowed[0]!, kind, 'svc-system')).toBe(false);
      }
      expect(await may('create', 'clustertrafficpolicies', 'shop')).toBe(false);
    },
  );

  test('the managed collector may get /metrics, another account may not', async () => {
    expect(await can('get /metrics', serviceAccount('gmp-system', 'collector'))).toBe(true);
    expect(await can('get /metrics', serviceAccount('shop', 'default'))).toBe(false);
  });
}
