/**
 * The first program inside the enclosure (the Linux namespaces of a run of these tests). It prepares the file systems
 * and networks, starts the cluster and the product, and runs the checks.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startControlPlane } from '../cluster/control-plane.ts';
import { createKubectl } from '../cluster/kubectl.ts';
import { startOutsideWorld } from '../demo/outside-world.ts';
import { runChecks } from './checks.ts';
import { createLog } from './log.ts';
import { startNode } from './node.ts';
import type { Given } from './orders.ts';
import { install, installMinter } from './product.ts';
import { reportOf } from './report.ts';
import { nodeAddress, prepareSurroundings, serviceRange } from './surroundings.ts';

const given = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Given;
const log = createLog(given.started);

async function main(): Promise<number> {
  const { dir, programs, orders } = given;
  prepareSurroundings(dir);
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  const plane = await startControlPlane({
    run: 'plane',
    dir,
    binaries: programs.controlPlane,
    serviceCidr: serviceRange,
    nodeMonitorGraceSeconds: 40,
    // Pods reach the API server through the Service `kubernetes`, at the node's address.
    apiServerFlags: [
      '--bind-address=0.0.0.0',
      `--advertise-address=${nodeAddress}`,
      '--endpoint-reconciler-type=lease',
    ],
    // The autoscaler syncs every 3 s instead of 15 s, so that the checks of autoscaling take less time.
    controllerManagerFlags: [
      '--horizontal-pod-autoscaler-sync-period=3s',
      '--horizontal-pod-autoscaler-initial-readiness-delay=1s',
      '--horizontal-pod-autoscaler-cpu-initialization-period=1s',
    ],
  });
  log(`API server ready at ${plane.server}`);
  const kubectl = createKubectl(programs.controlPlane.kubectl, plane.adminKubeconfig, dir);
  if (orders.keep) {
    log(`from another terminal: nsenter --all --target $(pgrep -f ${process.argv[2]} | tail -1)`);
    log(`export KUBECONFIG=${plane.adminKubeconfig}   (kubectl: ${programs.controlPlane.kubectl})`);
  }
  const node = await startNode({ dir, plane, programs, images: given.images, outsideNames: [given.outsideHost], log });
  log('node Ready');
  mkdirSync(join(dir, 'outside'), { recursive: true });
  const world = await startOutsideWorld({
    org: 'acme',
    repositories: ['gitops'],
    publicHost: given.outsideHost,
    kmsPort: given.kmsPort,
    authority: given.authority,
  });
  log('the world outside is there');
  let failed = 1;
  try {
    const product = { api: plane.api, kubectl };
    await install(product, log);
    await installMinter(product, world);
    log('the minter is Ready');
    const outcomes = await runChecks({ ...product, dir, orders, node, world, plane, programs, log });
    if (orders.report !== '') writeFileSync(orders.report, JSON.stringify(reportOf(outcomes)));
    failed = outcomes.filter(({ passed }) => !passed).length;
    log(failed === 0 ? 'all checks passed' : `${failed} checks failed`);
  } catch (error) {
    log((error as Error).message);
    log(await kubectl(['get', 'pods', '-A', '-o', 'wide']).catch(String));
    log(await kubectl(['get', 'events', '-A', '--sort-by=.lastTimestamp']).catch(String));
  }
  if (orders.keep) {
    log('staying until Ctrl-C');
    await interrupted;
  }
  return failed === 0 ? 0 : 1;
}

// The enclosure ends with this process, so nothing inside has to be stopped one by one.
main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${String((error as Error).stack)}\n`);
    process.exit(1);
  },
);
