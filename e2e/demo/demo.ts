/**
 * `make demo`: a real control plane, three nodes, the whole product, and a tour of it.
 * It stays up until Ctrl-C; with --once it ends after the tour. `play` says what the exit codes mean.
 */
import { parseArgs } from 'node:util';
import { onInterrupt } from '../cluster/interrupt.ts';
import { play } from './play.ts';
import { createReport } from './report.ts';
import { startStage, type Stage } from './stage.ts';

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
const interrupted = new AbortController();
const { signal } = interrupted;
onInterrupt(() => {
  report.show('\nstopping: everything the demo started is taken down … (Ctrl-C again: at once)');
  interrupted.abort();
});
report.show(standIns);
const start = (): Promise<Stage> => startStage({ report, nodes, queryPort: 9095, published: true, signal });
process.exit(await play({ report, start, once: values.once, signal }));
