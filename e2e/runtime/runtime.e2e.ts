import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { apiParity } from './api-parity.ts';
import { dotI } from './dot-i.ts';
import { greeter } from './greeter.ts';
import { healing } from './heal.ts';
import { manager } from './manager.ts';

/** All tests share this control plane, because a control plane takes long to start. */
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

const the = (): Cluster => cluster;
describe('the scripted API server and the real one', () => apiParity(the));
describe('what a server-side apply cannot repair', () => healing(the));
describe('an operator written for dot-i’s class', () => dotI(the));
describe('the example of the guide', () => greeter(the));
// It kills the API server, so it comes last.
describe('the manager', () => manager(the));
