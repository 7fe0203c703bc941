/**
 * `kubectl svc`, run by the real kubectl on a real control plane with two nodes and the whole product. All tests share
 * this cluster.
 */
import { createReport } from '../demo/report.ts';
import { startStage, type Stage } from '../demo/stage.ts';
import { bundleCases } from './bundle-cases.ts';
import { captureCases } from './capture-cases.ts';
import { observeCases } from './observe-cases.ts';
import { installPlugin, type Plugin } from './plugin.ts';
import { queryAndTop, withoutANode } from './query-and-top.ts';

let stage: Stage;
let plugin: Plugin;

beforeAll(async () => {
  const report = createReport({ write: (text) => void process.stderr.write(text) });
  stage = await startStage({ report, nodes: 2, perSecond: 10 });
  plugin = await installPlugin(stage.cluster);
}, 240_000);
afterAll(async () => {
  await plugin?.remove();
  await stage?.stop();
}, 60_000);

queryAndTop(
  () => stage,
  () => plugin,
);
observeCases(
  () => stage,
  () => plugin,
);
captureCases(
  () => stage,
  () => plugin,
);
bundleCases(
  () => stage,
  () => plugin,
);
withoutANode(
  () => stage,
  () => plugin,
);
