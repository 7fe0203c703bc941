import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One request that the API server answered. */
export interface AuditEntry {
  verb: string;
  user: string;
  group: string;
  /** `deployments`, or `deployments/status`. */
  resource: string;
  namespace: string;
  name: string;
  code: number;
  /** When the request came. Units: ms since the epoch. */
  at: number;
}

export interface Audit {
  /** Flags with which the API server writes the log. */
  flags: string[];
  /** All requests so far, in the order of their answers. */
  entries(): AuditEntry[];
  remove(): void;
}

/** The API server's audit log: the one record that has every request and its user. */
export function createAudit(): Audit {
  const dir = mkdtempSync(join(tmpdir(), 'svc-audit-'));
  const policy = join(dir, 'policy.yaml');
  const log = join(dir, 'audit.log');
  const rule = { level: 'Metadata', omitStages: ['RequestReceived'] };
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [rule] }));
  writeFileSync(log, '');
  return {
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-mode=blocking'],
    entries: () => readFileSync(log, 'utf8').split('\n').flatMap(entryOf),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

function entryOf(line: string): AuditEntry[] {
  if (!line.endsWith('}')) return [];
  const event = JSON.parse(line) as {
    verb: string;
    user: { username: string };
    objectRef?: { apiGroup?: string; resource?: string; subresource?: string; namespace?: string; name?: string };
    responseStatus?: { code?: number };
    requestReceivedTimestamp: string;
  };
  const { apiGroup = '', resource = '', subresource, namespace = '', name = '' } = event.objectRef ?? {};
  return [
    {
      verb: event.verb,
      user: event.user.username,
      group: apiGroup,
      resource: subresource ? `${resource}/${subresource}` : resource,
      namespace,
      name,
      code: event.responseStatus?.code ?? 0,
      at: Date.parse(event.requestReceivedTimestamp),
    },
  ];
}
