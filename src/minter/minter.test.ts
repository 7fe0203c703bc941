import { agentEmail, agentRules, audience, startMinterWorld, type MinterWorld } from '../testing/minter-world/world.ts';
import { askToken, startMinter, untilReady, type RunningMinter } from '../testing/minter-world/running-minter.ts';

let world: MinterWorld;
let minter: RunningMinter;

beforeAll(async () => {
  world = await startMinterWorld({ importKey: true });
  await world.writeRules({ '.yaml': agentRules() });
  minter = await startMinter(world);
  await untilReady(minter);
});

afterAll(async () => {
  await minter.stop();
  await world.stop();
});

test('a good request gets a bare token that works for exactly what was asked', async () => {
  const answer = await askToken(minter, world.issuer.token(agentEmail, audience));
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const issued = world.platform.state.tokens.get(answer.text);
  expect(issued?.repositories).toEqual(['gitops']);
  expect(issued?.permissions).toEqual({ contents: 'write', pull_requests: 'write', issues: 'write', metadata: 'read' });
  expect(world.platform.count('get_user_installation')).toBe(0);
});
