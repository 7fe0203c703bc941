/** One decision on `/token`. Undefined members are left out of the line. */
export interface AuditRecord {
  ts: string;
  request_id: string;
  /** The caller's own id, when its form is harmless. */
  caller_request_id?: string;
  decision: 'allow' | 'deny' | 'error';
  code: string;
  reason: string;
  email?: string | undefined;
  sub?: string;
  iss?: string;
  org?: string;
  repositories?: readonly string[];
  scope?: string;
  permissions?: Record<string, string>;
  rule_file?: string;
  rules_hash?: string;
  installation_id?: number;
  key_version?: string;
  app_jwt_sha256?: string;
  token_sha256?: string;
  expires_at?: string;
  client_ip?: string | undefined;
  duration_ms: number;
}

const maxText = 128;

/**
 * The audit line of a decision, with its newline. Every string is cut to 128 characters, and every character that a
 * terminal or a line reader could act on is escaped, so that no input can forge a line.
 */
export function auditLine(record: AuditRecord): string {
  const json = JSON.stringify(record, (_key, value: unknown) =>
    typeof value === 'string' && value.length > maxText ? value.slice(0, maxText) : value,
  );
  // JSON escapes C0 controls itself, but not DEL, C1, the line separators and bidirectional marks.
  return `${json.replace(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, escape)}\n`;
}

function escape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
