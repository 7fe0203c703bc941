/**
 * What a minter pod answers to `GET /readyz` on its admin port. The operator writes the conditions of a
 * MinterDeployment from it. The operator itself has no right on the key or the platform: this answer is all it knows.
 */

/** The conditions a pod can judge. The others (AppCredentialsFound, Available …) are the operator's own. */
export const minterCheckTypes = ['RulesValid', 'KeyEnabled', 'KeyMatchesApp', 'InstallationFound'] as const;
export type MinterCheckType = (typeof minterCheckTypes)[number];

/** Every reason a pod may give, by condition. A reason means the same in every condition that has it. */
export const minterCheckReasons = {
  RulesValid: ['Pending', 'Valid', 'ScopeFaulty', 'FileFaulty', 'ConfigMapNotFound'],
  KeyEnabled: [
    'Pending',
    'Enabled',
    'NotFound',
    'Disabled',
    'Destroyed',
    'PendingImport',
    'WrongAlgorithm',
    'PermissionDenied',
    'KeyServiceUnreachable',
  ],
  KeyMatchesApp: ['Pending', 'Matches', 'NextMatches', 'WrongApp', 'NextWrongApp', 'ClockSkew', 'PlatformUnreachable'],
  InstallationFound: [
    'Pending',
    'Found',
    'NotInstalled',
    'PersonalAccount',
    'Suspended',
    'RepositoryNotSelected',
    'PermissionMissing',
    'PlatformUnreachable',
  ],
} as const satisfies Record<MinterCheckType, readonly string[]>;

export type MinterCheckReason<T extends MinterCheckType = MinterCheckType> = (typeof minterCheckReasons)[T][number];

/** One judgement. `Unknown` means that no answer came so far; it never means "probably fine". */
export interface MinterCheck {
  type: MinterCheckType;
  status: 'True' | 'False' | 'Unknown';
  reason: MinterCheckReason;
  /** One sentence; names files, lines, states. Never a token or a key. */
  message: string;
  /** When `status` or `reason` last changed, RFC 3339. */
  since: string;
}

/** The body of `/readyz`, whatever its status code (200 ready, 503 not). */
export interface MinterReadiness {
  ready: boolean;
  /** `ready` = rules ∧ key ∧ app ∧ not draining. */
  gates: { rules: boolean; key: boolean; app: boolean };
  checks: MinterCheck[];
  keyVersion: string;
  nextKeyVersion?: string;
  /** SHA-256 (hex) over the rule files in force; the same in every pod that has the same rules. */
  rulesHash: string;
  /** Names of the scopes that are active in at least one file, sorted. */
  scopes: string[];
  installationId?: number;
  lastMintTime?: string;
  lastMintError?: { reason: string; time: string };
  /** For information only: `ready` ignores it, so that an outage of the issuer does not take every replica out. */
  jwks: { ageSeconds: number | null };
}
