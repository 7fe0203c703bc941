import { parse } from 'yaml';
import { captureHash, parseCaptureConfig } from './capture-config.ts';
import { seedLogText, zeroConfig } from './seed.ts';

const options = { node: 'node-1', ports: '80,443,8080,8443', instrumentVersion: 'v0.10.0' };

test('without policies or monitors one entry selects all processes on the default ports, in a container or not', () => {
  const config = zeroConfig(options);
  expect(parse(config.instrument.yaml).discovery.instrument).toEqual([{ open_ports: '80,443,8080,8443' }]);
  expect(parse(config.instrument.yaml).metrics.features).toEqual(['application']);
  expect(config.monitors).toEqual([]);
});

test('on the host network, where the devices of the node are visible, the first config has flows of TCP', () => {
  const { yaml } = zeroConfig({ ...options, hostNetwork: true }).instrument;
  expect(parse(yaml).metrics.features).toEqual(['application', 'network']);
  expect(parse(yaml).network).toMatchObject({ protocols: ['TCP'] });
});

test('the log text about the default ports is fixed, because people search for it', () => {
  expect(seedLogText('80,443,8080,8443')).toBe('open_ports=80,443,8080,8443');
  expect(seedLogText('8443, 80,9000-9010')).toBe('open_ports=80,8443,9000-9010');
});

test('the first config keeps its hash when it is sent as JSON', () => {
  const config = zeroConfig(options);
  expect(captureHash(parseCaptureConfig(JSON.parse(JSON.stringify(config))))).toBe(captureHash(config));
});

test.each(['', '80,', '0', '70000', '90-80', '80;443'])(
  'the port list %j is refused, and the error names the flag',
  (ports) => {
    expect(() => zeroConfig({ ...options, ports })).toThrow(/--obi-instrument-ports/);
  },
);

test('an instrument version whose config keys are unknown is refused', () => {
  expect(() => zeroConfig({ ...options, instrumentVersion: 'v0.1' })).toThrow(/v0\.9, v0\.10/);
});
