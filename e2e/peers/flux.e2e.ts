/** Our kinds under Flux's own kustomize-controller: applied, waited for, corrected and pruned by it. */
import type { KubeObject } from '../../src/api/meta.ts';
import { needing } from '../../src/testing/needs.ts';
import { until } from '../../src/testing/until.ts';
import {
  aMinter,
  aMonitor,
  aPolicy,
  minterDeploymentPath,
  minterPath,
  monitorPath,
  policyPath,
  startLifeStage,
  type LifeStage,
} from '../life/stage.ts';
import { startFlux, type Flux } from './flux.ts';
import { peerNeed } from './programs.ts';

let stage: LifeStage;
let flux: Flux;
const policy = aPolicy({ defaults: { protocols: ['HTTP'] } });
const generations = (): Promise<(number | undefined)[]> =>
  Promise.all([policyPath, monitorPath].map(async (path) => (await stage.get(path)).metadata.generation));

needing(peerNeed('kustomize-controller')).describe("Flux's kustomize-controller", () => {
  beforeAll(async () => {
    stage = await startLifeStage();
    flux = await startFlux(stage.cluster, '15s');
  }, 240_000);
  afterAll(async () => {
    await flux?.stop();
    await stage?.stop();
  }, 60_000);

  test('waits for our objects while no operator has observed them', async () => {
    const ready = await flux.push([policy, aMonitor()]);
    expect(ready).toMatchObject({ status: 'False', reason: 'HealthCheckFailed' });
    expect(ready.message).toMatch(/ClusterTrafficPolicy\/default status: 'InProgress'/);
  });

  test('counts our objects as ready when they are', async () => {
    await stage.startOperator();
    await stage.until(monitorPath, 'Ready', 'True');
    await stage.until(policyPath, 'Ready', 'True');
    expect(await flux.reconcile()).toMatchObject({ status: 'True', reason: 'ReconciliationSucceeded' });
    const { managedFields } = (await stage.get(policyPath)).metadata;
    expect(managedFields?.map(({ manager }) => manager)).toContain('kustomize-controller');
  });

  test('finds nothing to correct in objects that the operator has written to', async () => {
    const before = await generations();
    const versions = async (): Promise<unknown> => {
      const { managedFields = [] } = (await stage.get(policyPath)).metadata;
      return managedFields.find(({ manager }) => manager === 'kustomize-controller');
    };
    const applied = await versions();
    expect(await flux.reconcile()).toMatchObject({ status: 'True' });
    expect(await flux.reconcile()).toMatchObject({ status: 'True' });
    expect(await generations()).toEqual(before);
    expect(await versions()).toEqual(applied);
  });

  test('undoes an edit, and the operator follows', async () => {
    const edit = { spec: { defaults: { protocols: ['GRPC'] } } };
    await stage.kubectl('patch', 'ctp/default', '--type=merge', '-p', JSON.stringify(edit));
    await flux.reconcile();
    const corrected = await until('the status of the newest generation', async () => {
      const object = await stage.get<KubeObject & { status: { observedGeneration?: number } }>(policyPath);
      return object.status.observedGeneration === object.metadata.generation && object;
    });
    expect(corrected['spec']).toMatchObject({ defaults: { protocols: ['HTTP'] } });
  });

  test('prunes what Git no longer has, and does not report a minter that has no pods as ready', async () => {
    const ready = await flux.push([policy, aMinter()]);
    expect(await stage.find(monitorPath)).toBeUndefined();
    expect(await stage.find(minterDeploymentPath)).toBeDefined();
    expect(ready).toMatchObject({ status: 'False', reason: 'HealthCheckFailed' });
    expect(ready.message).toContain('MinterDeployment/agents/minter');
    // The minter's children belong to the operator: they go with their owner, and Flux does not know them.
    expect(await flux.push([policy])).toMatchObject({ status: 'True' });
    expect(await stage.find(minterPath)).toBeUndefined();
    await until('the end of the child', async () => (await stage.find(minterDeploymentPath)) === undefined);
  });
});
