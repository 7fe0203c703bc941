import { failure } from './failure.ts';
import { gitops } from './gitops.ts';
import { startLifeStage, type LifeStage } from './stage.ts';

/** Both groups of tests share one control plane, which takes long to start. */
let stage: LifeStage;

beforeAll(async () => {
  stage = await startLifeStage();
});
afterAll(() => stage?.stop());

describe('objects that GitOps controllers bring', () => gitops(() => stage));
describe('failures around the operator', () => {
  // An Event of the tests above must not satisfy a test below.
  beforeAll(() => stage.kubectl('delete', 'events', '--all', '-A'));
  failure(() => stage);
});
