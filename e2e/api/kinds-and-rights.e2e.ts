import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { installCrds } from './install.ts';
import { rights } from './rights.ts';
import { schemas } from './schemas.ts';

/**
 * Both groups of tests share one control plane, because its start takes long. The first group uses it with only the
 * CRDs, the second with a whole installation.
 */
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ nodes: 0 });
  await installCrds(cluster);
});
afterAll(() => cluster?.stop());

describe('the kinds', () => schemas(() => cluster));
describe('the rights', () => rights(() => cluster));
