import { errorText } from '../base/errors.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { AgentClient, type AgentTransport } from './push-client.ts';

test('an answer of open brackets is refused before it takes memory', async () => {
  const transport: AgentTransport = {
    generation: 0,
    open: () => Promise.resolve(null),
    request: () => Promise.resolve({ status: 200, headers: {}, body: Buffer.alloc(8 * 1024 * 1024, '[') }),
  };
  const client = new AgentClient(transport, { host: '10.0.0.1', port: 1, servername: 'a' }, new FakeClock());
  const refusal: unknown = await client.connect(new AbortController().signal).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'ERR_CAPTURE_PUSH' });
  expect(errorText(refusal)).toBe('agent status: the answer of the agent is not valid: it is nested deeper than 1000');
});
