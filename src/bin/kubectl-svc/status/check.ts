/**
 * The state of one checked thing. Only `bad` and `progressing` are not well. `note` is informative; `unknown` means
 * that the state could not be read.
 */
export type CheckState = 'ok' | 'note' | 'progressing' | 'bad' | 'unknown';

/** The sections of a report, in their order. */
export const sections = {
  api: 'API',
  operator: 'Operator',
  agents: 'Agents',
  query: 'Query servers',
  minters: 'Minters',
  certificates: 'Certificates',
  metricsApis: 'Metrics APIs',
  policies: 'ClusterTrafficPolicies',
  monitors: 'TrafficMonitors',
  nodes: 'Capture on nodes',
  events: 'Warnings',
} as const;
export type Section = keyof typeof sections;

/** One line of a report. */
export interface Check {
  readonly section: Section;
  readonly subject: string;
  readonly state: CheckState;
  readonly text: string;
  /** The remedy, or where to look. Absent when all is well, and where there is none to give. */
  readonly hint?: string;
}

/** True when nothing is broken and nothing is in progress. */
export function isWell(checks: readonly Pick<Check, 'state'>[]): boolean {
  return checks.every(({ state }) => state !== 'bad' && state !== 'progressing');
}

/** A function that makes the check of a subject from its state and text. */
export function about(section: Section, subject: string): (state: CheckState, text: string, hint?: string) => Check {
  return (state, text, hint) => ({ section, subject, state, text, ...(hint === undefined ? {} : { hint }) });
}
