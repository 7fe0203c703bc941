import { parseAck, parseAgentStatus, type AgentStatus } from './protocol.ts';
import { parseAgentMessage } from './session.ts';

const hash = `sha256:${'0'.repeat(64)}`;
const counts = { pendingBytes: 0, sent: 0, refused: 0 };

/** A status with this message in each place that has one. */
const aStatus = (message: string): AgentStatus => ({
  ...{ node: 'node-1', revision: 1, instrument: { up: true, restarts: 0 } },
  ack: { node: 'node-1', hash, phase: 'Failed', message },
  monitors: [
    { namespace: 'shop', name: 'm', activeSeries: 0, droppedSeries: 0, obstacle: { reason: 'PortNotOpen', message } },
  ],
  limits: [{ certain: true, message }],
  exports: [{ owner: 'TrafficMonitor/shop/m', name: 'x', state: 'Failing', message, ...counts }],
  totals: { series: 0, samplesAppended: 0, rejected: 0 },
});

test('a message of an agent that is too long is cut, and the rest of its status counts', () => {
  const [long, cut] = ['x'.repeat(1_100), 'x'.repeat(1_024)];
  expect(parseAgentStatus(aStatus(long))).toEqual(aStatus(cut));
  expect(parseAck(aStatus(long).ack)).toEqual(aStatus(cut).ack);
  const message = (text: string): object => ({ status: aStatus(text), put: { hash, ack: aStatus(text).ack } });
  expect(parseAgentMessage(message(long))).toEqual(message(cut));
});

test('a message of an agent ends with a whole character', () => {
  const fits = 'x'.repeat(1_023);
  expect(parseAgentStatus(aStatus(`${fits}\u{1f600}`))).toEqual(aStatus(fits));
});

test.each([
  ['activeSeries', 10 ** 12],
  ['droppedSeries', 10 ** 12],
  ['droppedSpans', Number.MAX_SAFE_INTEGER],
])('a status whose %s is above %d is refused: a status of a monitor could not carry the sum', (member, largest) => {
  const status = (count: number): object => ({
    ...aStatus(''),
    monitors: [{ namespace: 'shop', name: 'm', activeSeries: 0, droppedSeries: 0, [member]: count }],
  });
  expect(parseAgentStatus(status(largest))).toEqual(status(largest));
  for (const count of [largest + 1, 1e300]) {
    const refusal = `agent status /monitors/0/${member}: Expected integer to be less or equal to ${largest}`;
    expect(() => parseAgentStatus(status(count))).toThrow(refusal);
  }
});
