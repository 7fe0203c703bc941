/**
 * The statuses that our controllers write and the objects that they touch, judged by the engines of GitOps tools: the
 * kstatus of cli-utils, which Flux waits by, and Argo CD's gitops-engine for health and differences.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../src/api/meta.ts';
import { needing } from '../../src/testing/needs.ts';
import { repository } from '../install/tools.ts';
import { until } from '../../src/testing/until.ts';
import {
  aMinter,
  aMonitor,
  aPolicy,
  appCredentials,
  minterDeploymentPath,
  minterPath,
  monitorPath,
  policyPath,
  startLifeStage,
  type LifeStage,
} from '../life/stage.ts';
import { startGitOpsJudges, type GitOpsJudges } from './gitops-judges.ts';
import { peerNeed } from './programs.ts';

let stage: LifeStage;
let judges: GitOpsJudges;
const policy = aPolicy({ defaults: { protocols: ['HTTP'] } });
const git: [path: string, object: KubeObject][] = [
  [policyPath, policy],
  [monitorPath, aMonitor()],
  [minterPath, aMinter()],
];

/** How Argo CD applies: client-side, with the annotation from which a three-way comparison starts, or server-side. */
const styles: [string, string[]][] = [
  ['client-side', ['--field-manager=argocd-controller']],
  ['server-side', ['--server-side', '--force-conflicts', '--field-manager=argocd-controller']],
];

async function settled(): Promise<void> {
  await stage.until(policyPath, 'Ready', 'True');
  await stage.until(monitorPath, 'Ready', 'True');
  await stage.until(minterPath, 'Ready', 'False', 'MinimumReplicasUnavailable');
}

needing(peerNeed('kstatus'), peerNeed('argo-cd')).describe('the engines of Flux and Argo CD', () => {
  beforeAll(async () => {
    judges = await startGitOpsJudges();
    stage = await startLifeStage();
    await stage.apply([...git.map(([, object]) => object), appCredentials], ...styles[0]![1]);
  }, 240_000);
  afterAll(async () => {
    await judges?.close();
    await stage?.stop();
  }, 60_000);

  test('before an operator runs, none of our objects counts as done', async () => {
    for (const [path] of git) {
      const object = await stage.get(path);
      expect([path, (await judges.kstatus(object)).status]).toEqual([path, 'InProgress']);
      expect([path, (await judges.health(object))?.status]).toEqual([path, 'Progressing']);
    }
  });

  test('ready objects are Current and Healthy, a waiting minter is InProgress and Progressing', async () => {
    await stage.startOperator();
    await settled();
    for (const [path, status, health] of [
      [policyPath, 'Current', 'Healthy'],
      [monitorPath, 'Current', 'Healthy'],
      [minterPath, 'InProgress', 'Progressing'],
      // The Deployment of the minter; both engines judge this kind by rules of their own.
      [minterDeploymentPath, 'InProgress', 'Progressing'],
    ] as const) {
      const object = await stage.get(path);
      expect([path, (await judges.kstatus(object)).status]).toEqual([path, status]);
      expect([path, (await judges.health(object))?.status]).toEqual([path, health]);
    }
  });

  test('a stalled minter is Failed and Degraded', async () => {
    await stage.kubectl('-n', 'agents', 'delete', 'secret', 'vcs-app-credentials');
    await stage.until(minterPath, 'Stalled', 'True', 'MissingDependency');
    const minter = await stage.get(minterPath);
    expect((await judges.kstatus(minter)).status).toBe('Failed');
    expect((await judges.health(minter))?.status).toBe('Degraded');
    await stage.apply([appCredentials]);
    await settled();
  });

  test.each(styles)(
    'applied %s, no object differs from Git after the operator has written to it',
    async (_style, flags) => {
      await stage.apply(
        git.map(([, object]) => object),
        ...flags,
      );
      await settled();
      for (const [path, object] of git) {
        expect([path, await judges.difference(object, await stage.get(path))]).toEqual([path, undefined]);
      }
    },
  );

  test('an edit in the cluster differs from Git until it is undone', async () => {
    const edit = { spec: { defaults: { protocols: ['GRPC'] } } };
    await stage.kubectl('patch', 'ctp/default', '--type=merge', '-p', JSON.stringify(edit));
    expect(await judges.difference(policy, await stage.get(policyPath))).toBeDefined();
    await stage.apply([policy], ...styles[1]![1]);
    expect(await judges.difference(policy, await stage.get(policyPath))).toBeUndefined();
  });

  test('no object of the installation differs from its manifest while the operator runs', async () => {
    const text = readFileSync(join(repository, 'manifests/install.yaml'), 'utf8');
    const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
    const compared: string[] = [];
    for (const object of objects) {
      const { apiVersion, kind, metadata } = object;
      // The stage scales this Deployment to 0: the operator runs in this process.
      if (kind === 'Deployment' && metadata.name === 'svc-controller') continue;
      const scope = metadata.namespace === undefined ? [] : ['-n', metadata.namespace];
      const [version, group] = apiVersion!.split('/').toReversed();
      const resource = group === undefined ? kind! : `${kind}.${version}.${group}`;
      const live = await until(
        `${kind} ${metadata.name}`,
        async () =>
          JSON.parse(await stage.kubectl(...scope, 'get', resource, metadata.name!, '-o', 'json')) as KubeObject,
      );
      compared.push(`${kind}/${metadata.name}`);
      expect([compared.at(-1), await judges.difference(object, live)]).toEqual([compared.at(-1), undefined]);
    }
    expect(compared.length).toBeGreaterThan(10);
  });
});
