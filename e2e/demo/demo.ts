/**
 * `make demo`: a real control plane, three nodes, the whole product, and a tour of it.
 * It stays up until Ctrl-C; with --once it ends after the tour. The exit code is 0 only if every check of the tour was
 * as expected.
 */
import { parseArgs } from 'node:util';
import { createReport } from './report.ts';
import { startStage, type Stage } from './stage.ts';
import { runTour } from './tour.ts';

const { values } = parseArgs({
  options: {
    once: { type: 'boolean', default: false },
    nodes: { type: 'string', default: '3' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  console.log(
    'Usage: make demo [ONCE=1]\n       npm run demo -- [--once] [--nodes N]\n\nBrings up a real control plane, N process nodes (default 3), the operator, agents, query and minter; shows them.',
  );
  process.exit(0);
}
const nodes = Number(values.nodes);
if (!Number.isInteger(nodes) || nodes < 2 || nodes > 20) {
  console.error('demo: --nodes takes a whole number from 2 to 20');
  process.exit(2);
}

/** Shown before anything starts, so that readers of the tour know which parts are stand-ins. */
const standIns = `Real here: etcd, API server, controller manager, scheduler, kubectl, and every program of this product.
Stand-ins, and how to run each for real:
  nodes             start containers as processes, without a kubelet   on a cluster of your own: docs/guides/install.md
  eBPF instrument   the shop's services measure their own requests     make e2e-instrument INSTRUMENT=/path/to/binary
  key service       keeps the App's key in its memory                  docs/guides/minter.md, with Cloud KMS
  hosting platform  grants tokens for repositories that it made up     docs/guides/minter.md, with an App of your own
`;
const report = createReport();
const started = performance.now();
let stage: Stage | undefined;
let stopping = false;
const stopped = Promise.withResolvers<void>();
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping) return;
    stopping = true;
    report.show('\nstopping: everything the demo started is taken down …');
    interrupted.abort();
    stopped.resolve();
  });
}

report.show(standIns);

try {
  stage = await startStage({ report, nodes, queryPort: 9095, published: true, signal: interrupted.signal });
  if (!stopping) await runTour(stage, report);
  const { queryTarget, cluster } = stage;
  if (!stopping) {
    report.show(`\nTo look at${values.once ? '' : ', until Ctrl-C'}:
  the page     https://127.0.0.1:${queryTarget.port}/  (certificate of our own CA)
  PromQL       curl -sk 'https://127.0.0.1:${queryTarget.port}/api/v1/query?query=sum(svc_agent_up)'
  the cluster  export KUBECONFIG=${cluster.kubeconfig}; ${cluster.binaries.kubectl} get svcdev -A`);
    if (!values.once) await stopped.promise;
  }
} catch (error) {
  if (!stopping) report.expect('the demo', false, error instanceof Error ? error.message : String(error));
} finally {
  await stage?.stop();
}
if (report.failures.length > 0) {
  report.show(`\ndemo: ${report.failures.length} line(s) not as expected: ${report.failures.join('; ')}`);
  process.exit(1);
}
// Interrupted during the start: once this process is gone, a helper (the reaper) releases what the cluster has taken.
if (stopping && !stage) process.exit(130);
report.show(
  stopping
    ? 'demo: stopped'
    : `demo: every line was as expected, ${Math.round((performance.now() - started) / 1000)} s in all`,
);
process.exit(0);
