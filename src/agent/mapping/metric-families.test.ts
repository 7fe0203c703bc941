import { familyNames } from '../../api/v1alpha1/index.ts';
import { metricFamily, storedFamily } from './metric-families.ts';
import { metricName } from './names.ts';

const names = {
  'http.server.request.duration': 'HTTPServer',
  'http.client.request.duration': 'HTTPClient',
  'rpc.server.duration': 'RPC',
  'db.client.operation.duration': 'DB',
  'messaging.publish.duration': 'Messaging',
  'obi.network.flow.bytes': 'NetworkFlow',
  'beyla.network.flow.bytes': 'NetworkFlow',
  'obi.stat.tcp.rtt': 'TCPStats',
  'beyla.stat.tcp.rtt': 'TCPStats',
  'process.cpu.time': null,
};

test.each(Object.entries(names))('%s is of the family %s, also by its stored name', (otlpName, family) => {
  expect([metricFamily(otlpName), storedFamily(`${metricName(otlpName)}_bucket`)]).toEqual([family, family]);
});

test('the metric names in these tests cover every family', () => {
  expect(new Set(Object.values(names).filter((family) => family !== null))).toEqual(new Set(familyNames));
});
