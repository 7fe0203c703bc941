import { parse } from 'yaml';
import type { ClusterTrafficPolicySpec } from '../../api/v1alpha1/index.ts';
import { aMonitor, aPolicy, aWorld } from '../../testing/capture/world.ts';
import { compile } from './compile.ts';
import type { CompileInput } from './types.ts';

interface File {
  attributes: { sensitive_query_params?: { add?: string[]; remove?: string[] } };
  ebpf: {
    payload_extraction: { http: { enrichment: { rules: { action: string; match: { patterns: string[] } }[] } } };
  };
}
const fileOf = (more: Partial<CompileInput>): File =>
  parse(compile(aWorld(more)).nodes.get('node-1')!.config.instrument.yaml) as File;

const critical = { namespaceSelector: { matchLabels: { tier: 'critical' } } };
const params = (add: string[], remove: string[] = []) => ({ redaction: { queryParams: { add, remove } } });
const redacted = (...specs: ClusterTrafficPolicySpec[]) => {
  const policies = specs.map((spec, i) => aPolicy(`p${i}`, spec));
  const { attributes } = fileOf({ policies });
  return attributes.sensitive_query_params;
};
test.each<[string, ClusterTrafficPolicySpec[], ReturnType<typeof redacted>]>([
  [
    'one policy is enough to let a parameter through',
    [params([], ['sig']), params([], ['token'])],
    { remove: ['sig', 'token'] },
  ],
  [
    'no policy lets through a parameter that another one redacts, in upper or lower case',
    [params([], ['token']), params(['Token'])],
    { add: ['Token'] },
  ],
  [
    'a name is let through in each of its spellings',
    [params([], ['SIGNATURE'])],
    { remove: ['SIGNATURE', 'Signature', 'signature'] },
  ],
  ['what only some namespaces redact is left to the agent', [{ ...critical, ...params(['page']) }], undefined],
  [
    'what one namespace may see passes the instrument, and the agent redacts it in the others',
    [params([], ['sig']), { ...critical, ...params(['sig'], ['token']) }],
    { remove: ['sig', 'token'] },
  ],
  [
    'what every namespace redacts does not pass the instrument',
    [params(['token']), { ...critical, ...params([], ['token']) }],
    { add: ['token'] },
  ],
])('%s', (_sentence, specs, expected) => {
  expect(redacted(...specs)).toEqual(expected);
  expect(redacted(...specs.toReversed())).toEqual(expected);
});

test('a header that a policy of some namespaces obfuscates keeps its value in the others', () => {
  const allow = ['x-id', 'x-tenant'];
  const { ebpf } = fileOf({
    policies: [
      aPolicy('all', { redaction: { headers: { allow, obfuscate: ['x-id'] } } }),
      aPolicy('critical', { ...critical, redaction: { headers: { allow, obfuscate: ['x-tenant'] } } }),
    ],
    monitors: [aMonitor('shop/m', { selector: {}, http: { headers: { capture: allow } } })],
  });
  const rules = ebpf.payload_extraction.http.enrichment.rules;
  expect(rules.map((rule) => [rule.action, rule.match.patterns])).toEqual([
    ['include', ['x-tenant']],
    ['obfuscate', ['x-id']],
  ]);
});
