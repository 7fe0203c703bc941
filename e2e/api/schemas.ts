import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kinds } from '../../src/api/v1alpha1/index.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { repository } from '../install/tools.ts';
import { installCrds } from './install.ts';
import { until } from '../../src/testing/until.ts';
import { collectionPath, documentOf, tables, verdict } from './documents.ts';
import { ruleMessages, specPatterns } from '../../src/testing/schema-walk.ts';

let cluster: Cluster;

/** Runs `kubectl explain` until it succeeds: the API server publishes a new kind's schema after it serves the kind. */
const explain = (what: string): Promise<string> =>
  until(`kubectl explain ${what}`, () => cluster.kubectl(['explain', what]));

/** Tests the CRDs on an API server that has the CRDs and no objects of them. */
export function schemas(of: () => Cluster): void {
  beforeAll(() => {
    cluster = of();
  });

  describe('the definitions', () => {
    test.each(kinds.map((kind) => [kind.resource.kind, kind] as const))(
      '%s is established and structural, and its names are accepted',
      async (_, kind) => {
        const name = `${kind.resource.plural}.${kind.resource.group}`;
        const crd = await cluster.api.request<{ status: { conditions: { type: string; status: string }[] } }>(
          'GET',
          `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`,
        );
        const statuses = Object.fromEntries(crd.status.conditions.map((c) => [c.type, c.status]));
        expect(statuses).toMatchObject({ Established: 'True', NamesAccepted: 'True' });
        expect(statuses).not.toHaveProperty('NonStructuralSchema', 'True');
      },
    );

    test('kubectl get svc still lists Services', async () => {
      expect(await cluster.kubectl(['-n', 'default', 'get', 'svc', '-o', 'name'])).toBe('service/kubernetes\n');
    });

    test('all kinds are listed by their category and found by their short names', async () => {
      const listed = await cluster.kubectl(['api-resources', '--categories=svcdev', '--no-headers']);
      const names = listed
        .trim()
        .split('\n')
        .map((line) => line.split(/\s+/)[0]);
      expect(names.toSorted()).toEqual(kinds.map((kind) => kind.resource.plural).toSorted());
      expect(kinds).toHaveLength(3);
      for (const kind of kinds) {
        const text = await explain(kind.shortNames[0] ?? '');
        expect(text.replaceAll(/\s+/g, ' ')).toContain(kind.description);
      }
    });

    test('kubectl explain describes nested fields', async () => {
      const text = await explain('trafficmonitor.spec.sampling.keepSlowerThan');
      expect(text).toContain('Keep every span that took longer');
    });
  });

  describe.each(tables.map((table) => [table.kind.resource.kind, table] as const))('a %s', (_, table) => {
    const refusals: string[] = [];

    test.each(table.cases.map((one) => [one.does, one] as const))('%s', async (_does, one) => {
      const said = await verdict(cluster.api, table, one);
      if (said !== undefined) refusals.push(said);
      if (one.says === undefined) expect(said).toBeUndefined();
      else expect(said).toMatch(one.says);
    });

    test('each rule of the kind refuses a document of the tests above', () => {
      const messages = [...ruleMessages(table.kind)];
      expect(messages).not.toHaveLength(0);
      const missing = messages.filter(
        (message) =>
          message !== 'org is immutable; create a second MinterDeployment' &&
          !refusals.some((r) => r.includes(message)),
      );
      expect(missing).toEqual([]);
    });

    test('each pattern of the kind refuses a document of the tests above', () => {
      const patterns = [...specPatterns(table.kind)];
      expect(patterns).not.toHaveLength(0);
      expect(patterns.filter((pattern) => !refusals.some((r) => r.includes(pattern)))).toEqual([]);
    });
  });

  describe('defaults and changes', () => {
    test('a TrafficMonitor gets no default but its mode, so that a policy can default the rest', async () => {
      const table = tables[0]!;
      const stored = await create(table);
      expect(stored.spec).toEqual({ ...table.base, mode: 'Capture' });
    });

    test('a MinterDeployment is complete with its defaults', async () => {
      const stored = await create(tables[2]!);
      expect(stored.spec).toMatchObject({
        replicas: 2,
        vcs: { apiBaseURL: 'https://api.github.com', appIdSecretRef: { name: 'vcs-app-credentials', key: 'app-id' } },
        kms: { provider: 'gcp' },
        issuer: { url: 'https://accounts.google.com', jwksURI: 'https://www.googleapis.com/oauth2/v3/certs' },
        serviceAccount: { create: true },
        allowedCallers: { podSelector: { matchLabels: { app: 'platform-agent' } } },
        limits: { requestsPerMinutePerCaller: 30, maxRepositoriesPerRequest: 10 },
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '500m', memory: '256Mi' } },
        podDisruptionBudget: true,
      });
    });

    test('the organization of a MinterDeployment cannot be changed', async () => {
      const path = `${collectionPath(tables[2]!.kind)}/sample`;
      const patch = cluster.api.request(
        'PATCH',
        path,
        { spec: { vcs: { org: 'other' } } },
        { contentType: 'application/merge-patch+json' },
      );
      await expect(patch).rejects.toThrow('org is immutable; create a second MinterDeployment');
    });

    test('an object with values that newer rules refuse can be changed in its other fields and status', async () => {
      const table = tables[1]!;
      const path = collectionPath(table.kind);
      const patch = (to: string, body: object): Promise<object> =>
        cluster.api.request('PATCH', to, body, { contentType: 'application/merge-patch+json' });
      const stored = {
        network: { cidrs: [{ cidr: '999.1.1.1/8' }] },
        nodeSelector: { matchExpressions: [{ key: 'a', operator: 'NotIn' }] },
        retention: { metrics: { size: 0 } },
      };
      const create = (spec: object, dryRun: boolean): Promise<object> => {
        const object = documentOf(table, { spec, name: 'old' });
        return cluster.api.request('POST', dryRun ? `${path}?dryRun=All` : path, object);
      };
      const newer: readonly [rule: RegExp, spec: object, says: string][] = [
        [/self\.cidr\.matches\([^\n]*/, { network: stored.network }, 'cidr is an address range'],
        [/\(self\.operator in [^\n]*/g, { nodeSelector: stored.nodeSelector }, 'In and NotIn need values'],
        [/quantity\(string[^\n]*/g, { retention: stored.retention }, 'must be at least 1Mi'],
      ];
      const crd = await readFile(join(repository, 'crds/svc.dev_clustertrafficpolicies.yaml'), 'utf8');
      const older = newer.reduce((text, [rule]) => text.replace(rule, '"true"'), crd);
      await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: older });
      await until('the rules are gone', () => create(stored, false));
      await installCrds(cluster);
      for (const [, spec, says] of newer) {
        await until(`the rule is back: ${says}`, () =>
          create({ priority: 1, ...spec }, true).then(
            () => false,
            (error: unknown) => String(error).includes(says),
          ),
        );
      }
      await patch(`${path}/old`, { spec: { priority: 7, retention: { spans: { size: '1Mi' } } } });
      await patch(`${path}/old/status`, { status: { observedGeneration: 2 } });
      const others: readonly [spec: object, says: string][] = [
        [{ network: { cidrs: [{ cidr: '999.1.1.1/8' }, { cidr: 'fd00::/8' }] } }, 'cidr is an address range'],
        [{ nodeSelector: { matchExpressions: [{ key: 'b', operator: 'NotIn' }] } }, 'In and NotIn need values'],
        [{ retention: { metrics: { size: 1 } } }, 'must be at least 1Mi'],
      ];
      for (const [spec, says] of others) await expect(patch(`${path}/old`, { spec })).rejects.toThrow(says);
      await cluster.api.request('DELETE', `${path}/old`);
    });

    test('a write of the status leaves the spec alone', async () => {
      const path = `${collectionPath(tables[0]!.kind)}/sample`;
      const status = {
        observedGeneration: 1,
        matchedPods: 3,
        nodes: { desired: 2, updated: 2, capturing: 2, failed: 0 },
      };
      const patched = await cluster.api.request<{ status: object; metadata: { generation: number } }>(
        'PATCH',
        `${path}/status`,
        { status, spec: { mode: 'Exclude' } },
        { contentType: 'application/merge-patch+json' },
      );
      expect(patched).toMatchObject({ status, metadata: { generation: 1 }, spec: { mode: 'Capture' } });
      const columns = await cluster.kubectl(['get', 'tm', '-o', 'wide']);
      expect(columns.split(/\n/)[0]?.trim().split(/\s+/)).toEqual([
        'NAME',
        'MODE',
        'PRIORITY',
        'PODS',
        'NODES',
        'DESIRED',
        'SERIES',
        'READY',
        'ACCEPTED',
        'CAPTURING',
        'CONFLICTED',
        'AGE',
      ]);
    });
  });
}

async function create(table: (typeof tables)[number]): Promise<{ spec: object }> {
  return cluster.api.request(
    'POST',
    `${collectionPath(table.kind)}?fieldValidation=Strict`,
    documentOf(table, { spec: {} }),
  );
}
