import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { installCrds } from './install.ts';
import { rights } from './rights.ts';
import { schemas } from './schemas.ts';

/** Both groups share one control plane, which takes long to start: first with CRDs alone, then a whole installation. */
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ nodes: 0 });
  await installCrds(cluster);
});
afterAll(() => cluster?.stop());

describe('the kinds', () => schemas(() => cluster));
describe('the rights', () => rights(() => cluster));
