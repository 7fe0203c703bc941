import { canonicalJson } from '../base/canonical-json.ts';
import { captureHash, type CaptureConfig } from './capture-config.ts';
import { ConfigEncoder } from './config-encoder.ts';
import { zeroConfig } from './seed.ts';

const seed = zeroConfig({ node: 'x', ports: '80', instrumentVersion: 'v0.10' });
const rule = { namespace: 'shop', name: 'm', uid: 'u', pods: ['a', 'b'] };

test.each<[string, Partial<CaptureConfig>]>([
  ['the config that an agent starts with', {}],
  ['a config with fallback rules', { fallback: [{ protocols: ['HTTP'] }], generations: { b: 1, a: 2 } }],
])('%s: the encoder gives the bytes of canonicalJson and the hash of captureHash', (_what, more) => {
  const { node: _node, monitors: _monitors, ...shared } = { ...seed, ...more };
  const encoder = new ConfigEncoder(shared);
  for (const own of [
    { node: 'node-1', monitors: [] },
    { node: 'node "2"', monitors: [rule] },
  ]) {
    const { config, hash, json, pieces } = encoder.encode(
      own.node,
      own.monitors.map((one) => ({ rule: one, text: canonicalJson(one) })),
    );
    expect(config).toEqual({ ...shared, ...own });
    expect(json()).toBe(canonicalJson(config));
    expect(Buffer.concat(pieces()).toString()).toBe(json());
    expect(hash).toBe(captureHash(config));
  }
});
