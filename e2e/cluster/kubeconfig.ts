import { writeFileSync } from 'node:fs';
import type { KeyPair } from './pki.ts';

/** Which server to reach, and as whom. */
export interface KubeconfigOptions {
  server: string;
  /** The authority's certificate, PEM. */
  ca: string;
  user: KeyPair;
}

/** Writes a kubeconfig with everything inside it (JSON, which is YAML), readable by its owner alone. */
export function writeKubeconfig(path: string, options: KubeconfigOptions): void {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'svc',
    clusters: [{ name: 'svc', cluster: { server: options.server, 'certificate-authority-data': encode(options.ca) } }],
    users: [
      {
        name: 'svc',
        user: {
          'client-certificate-data': encode(options.user.cert),
          'client-key-data': encode(options.user.key),
        },
      },
    ],
    contexts: [{ name: 'svc', context: { cluster: 'svc', user: 'svc' } }],
  };
  writeFileSync(path, JSON.stringify(config, undefined, 2), { mode: 0o600 });
}
