import { request } from 'node:https';
import type { EtcdAccess } from '../cluster/control-plane.ts';

/** The `apiVersion` of every object that etcd stores below a prefix, by key. Only for custom kinds, stored as JSON. */
export async function storedVersions(etcd: EtcdAccess, prefix: string): Promise<Record<string, string>> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
  const answer = await post(etcd, '/v3/kv/range', { key: base64(prefix), range_end: base64(end) });
  const { kvs = [] } = JSON.parse(answer) as { kvs?: { key: string; value: string }[] };
  const text = (encoded: string): string => Buffer.from(encoded, 'base64').toString();
  return Object.fromEntries(
    kvs.map(({ key, value }) => [
      text(key).slice(prefix.length),
      (JSON.parse(text(value)) as { apiVersion: string }).apiVersion,
    ]),
  );
}

function post({ url, ca, cert, key }: EtcdAccess, path: string, body: object): Promise<string> {
  const tls = { ca, cert, key };
  return new Promise((resolve, reject) => {
    const call = request(url + path, { ...tls, method: 'POST', agent: false }, (res) => {
      let text = '';
      res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      res.on('end', () => (res.statusCode === 200 ? resolve(text) : reject(new Error(`${res.statusCode}: ${text}`))));
      res.on('error', reject);
    });
    call.on('error', reject).end(JSON.stringify(body));
  });
}
