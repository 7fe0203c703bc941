import { parse } from 'yaml';
import { zeroConfig } from '../seed.ts';
import { validateInstrumentDocument } from './validate.ts';

type Doc = Record<string, Record<string, unknown>>;
const seed = (version: string): Doc =>
  parse(zeroConfig({ node: 'n', ports: '80', hostNetwork: true, instrumentVersion: version }).instrument.yaml) as Doc;
const problems = (change: (doc: Doc) => void, version: 'v0.9' | 'v0.10' = 'v0.10'): string[] => {
  const doc = seed(version);
  change(doc);
  return validateInstrumentDocument(version, doc);
};

test.each(['v0.9', 'v0.10'] as const)('the seed (the first config) of instrument %s is accepted', (version) => {
  expect(validateInstrumentDocument(version, seed(version))).toEqual([]);
});

test('the health check exists from v0.10 on', () => {
  expect(seed('v0.10')['health_check']).toEqual({ unix_socket_path: '@svc-obi-health' });
  expect(seed('v0.9')['health_check']).toBeUndefined();
  expect(problems((d) => void (d['health_check'] = { unix_socket_path: '@a' }), 'v0.9')).toEqual([
    'health_check: this version of the instrument has no such key',
  ]);
});

test.each<[string, (doc: Doc) => void, RegExp]>([
  ['an unknown key', (d) => void (d['discovery']!['pol_interval'] = '5s'), /discovery\.pol_interval/],
  ['an unknown feature', (d) => void (d['metrics']!['features'] = ['aplication']), /features\[0\]: must be one of/],
  ['no feature', (d) => void (d['metrics']!['features'] = []), /at least one feature/],
  [
    'span metrics of both kinds',
    (d) => void (d['metrics']!['features'] = ['application_span', 'application_span_otel']),
    /exclude each other/,
  ],
  ['an endpoint without a scheme', (d) => void (d['otel_metrics_export']!['endpoint'] = '127.0.0.1:4318'), /endpoint/],
  [
    'no exporter',
    (d) => {
      delete d['otel_metrics_export'];
      delete d['otel_traces_export'];
    },
    /at least one exporter/,
  ],
  [
    'a bad enumeration',
    (d) => void (d['network']!['source'] = 'xdp'),
    /network\.source: must be one of socket_filter tc/,
  ],
  ['a wrong type', (d) => void (d['ebpf']!['wakeup_len'] = '20'), /ebpf\.wakeup_len: must be a number/],
  [
    'a sampler argument that is a number',
    (d) => void (d['otel_traces_export']!['sampler'] = { name: 'traceidratio', arg: 0.1 }),
    /sampler\.arg/,
  ],
  [
    'ports as numbers',
    (d) => void (d['discovery']!['instrument'] = [{ open_ports: 80 }]),
    /open_ports: must be a string/,
  ],
  ['a wildcard of two characters', (d) => void (d['routes']!['wildcard_char'] = '**'), /wildcard_char/],
  ['a queue below two batches', (d) => void (d['otel_traces_export']!['queue_size'] = 5000), /twice batch_max_size/],
  [
    'an entry that selects nothing',
    (d) => void (d['discovery']!['instrument'] = [{ containers_only: true }]),
    /selects nothing/,
  ],
  ['a value with a variable', (d) => void (d['attributes']!['rename_unresolved_hosts'] = '${HOME}'), /expanded/],
  [
    'a document with nothing to do',
    (d) => {
      d['discovery']!['instrument'] = [];
      d['metrics']!['features'] = ['application'];
    },
    /nothing to do/,
  ],
  ['an inherited member as a key', (d) => void (d['discovery'] = { constructor: {} }), /no such key/],
])('refuses %s', (_what, change, message) => {
  expect(problems(change).join('\n')).toMatch(message);
});
