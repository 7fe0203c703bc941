import fc from 'fast-check';
import { parse } from 'yaml';
import type { ClusterTrafficPolicySpec } from '../../api/v1alpha1/index.ts';
import { anyText } from '../../testing/any-text.ts';
import { aPolicy, aWorld } from '../../testing/capture/world.ts';
import { compile } from './compile.ts';

const environment = { instrumentVersion: 'v0.10.0', ports: '80', allowExtraConfig: true };
const withExtra = (extraConfig: Record<string, unknown>, more: ClusterTrafficPolicySpec = {}) => {
  const spec = { ...more, instrument: { extraConfig } };
  const result = compile(aWorld({ environment, policies: [aPolicy('p', spec)] }));
  const { yaml } = result.nodes.get('node-1')!.config.instrument;
  return { yaml, file: parse(yaml) as Record<string, never>, accepted: result.policies.get('p')!.accepted };
};
const plain = withExtra({}).yaml;
/** The file without the policy: a refused policy must not change it. */
const without = compile(aWorld({ environment })).nodes.get('node-1')!.config.instrument.yaml;

test.each([
  { discovery: { instrument: [] } },
  { discovery: { exclude_instrument: [] } },
  { enforce_sys_caps: false },
  { health_check: { port: 8080 } },
  { otel_metrics_export: { endpoint: 'http://x:1' } },
  { otel_metrics_export: 'x' },
  { otel_traces_export: { sampler: { name: 'always_off' } } },
  { nodejs: { enabled: true } },
  { javaagent: { enabled: true } },
  { metrics: { features: ['stats'] } },
  { attributes: { kubernetes: { enable: 'false' } } },
  { attributes: [] },
  { attributes: { sensitive_query_params: { remove: ['token'] } } },
  { ebpf: { context_propagation: 'all' } },
  { ebpf: { payload_extraction: {} } },
  { network: { source: 'tc' } },
  { routes: { unmatched: 'path' } },
])('a key that the operator writes itself is refused and changes nothing: %j', (extra) => {
  const { accepted, yaml } = withExtra(extra);
  expect(accepted).toMatchObject({ ok: false, reason: 'Invalid' });
  expect(accepted.message).toMatch(/^spec\.instrument\.extraConfig\..*written by the operator/);
  expect(yaml).toBe(without);
});

test.each<[object, RegExp]>([
  [{ ebpf: { wakeup_length: 1 } }, /ebpf\.wakeup_length: this version of the instrument has no such key/],
  [{ no_such: 1 }, /no_such: this version/],
  [{ log_format: 'xml' }, /log_format: must be one of text json/],
  [{ ebpf: { wakeup_len: '10' } }, /ebpf\.wakeup_len: must be a number/],
  [{ otel_traces_export: { queue_size: 10 } }, /queue_size: must be at least twice/],
  [{ ebpf: { wakeup_len: null } }, /must not be null/],
  [{ filter: { application: { 'a b': { match: 'x' } } } }, /is not a valid key/],
  [{ filter: { application: { a: { match: '${HOME}' } } } }, /without \$/],
  [{ filter: { a: { b: { c: { d: { e: { f: { g: { h: 1 } } } } } } } } }, /nested too deeply/],
  [
    { filter: { network: Object.fromEntries([...Array(300).keys()].map((i) => [`a${i}`, {}])) } },
    /has too many members/,
  ],
])('extra keys that the instrument would not accept as intended are refused: %j', (extra, words) => {
  const { accepted, yaml } = withExtra(extra as Record<string, unknown>);
  expect(accepted).toMatchObject({ ok: false, reason: 'Invalid' });
  expect(accepted.message).toMatch(words);
  expect(yaml).toBe(without);
});

test('other keys are put into the instrument’s file, and their order does not change its bytes', () => {
  const { file, accepted, yaml } = withExtra({ ebpf: { wakeup_len: 10, batch_length: 7 }, log_format: 'json' });
  expect(accepted.ok).toBe(true);
  expect(file).toMatchObject({ log_format: 'json', ebpf: { wakeup_len: 10, batch_length: 7, batch_timeout: '1s' } });
  expect(withExtra({ log_format: 'json', ebpf: { batch_length: 7, wakeup_len: 10 } }).yaml).toBe(yaml);
});

test('without the flag of the controller no extra key is in force, whatever was accepted before', () => {
  const spec = { instrument: { extraConfig: { log_format: 'json' } } };
  const policies = [aPolicy('p', spec, { status: { lastAcceptedSpec: spec } })];
  const result = compile(aWorld({ environment: { ...environment, allowExtraConfig: false }, policies }));
  expect(result.policies.get('p')!).toMatchObject({
    accepted: { ok: false, reason: 'ExtraConfigNotAllowed' },
    inForce: null,
  });
  expect(result.nodes.get('node-1')!.config.instrument.yaml).toBe(without);
});

test('no value is expanded, breaks out of its key or changes another key', () => {
  const hostile = fc.oneof(
    anyText({ maxLength: 30 }),
    fc.constantFrom(
      '${A}',
      '$(B)',
      'a\nb: c',
      '"',
      '__proto__',
      'constructor',
      '\ud800',
      '\u2028',
      ': ',
      '- x',
      '*',
      '#',
    ),
  );
  const base = parse(plain) as object;
  const outcomes = new Set<boolean>();
  fc.assert(
    fc.property(hostile, hostile, fc.boolean(), (key, value, own) => {
      const filter = JSON.parse(`{${JSON.stringify(key)}: {"match": ${JSON.stringify(value)}}}`) as object;
      const { yaml, file, accepted } = withExtra(own ? { filter: { application: filter } } : { [key]: value });
      expect(/\$[{(]/.test(yaml)).toBe(false);
      outcomes.add(accepted.ok);
      if (!accepted.ok) expect(yaml).toBe(without);
      else expect(file).toEqual({ ...base, ...(own ? { filter: { application: filter } } : {}) });
    }),
    { numRuns: 300, examples: [['url.path', '/health*', true]] },
  );
  expect(outcomes).toEqual(new Set([true, false]));
});
