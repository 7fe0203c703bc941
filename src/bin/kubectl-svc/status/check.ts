/** How one thing fares. Only `bad` and `progressing` are not well; `note` is worth knowing, `unknown` could not be read. */
export type CheckState = 'ok' | 'note' | 'progressing' | 'bad' | 'unknown';

/** The parts of a report, in the order in which they are shown. */
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
  /** What to do, or where to look; present for everything that is not well. */
  readonly hint?: string;
}

/** True when nothing is broken and nothing is still on its way. */
export function isWell(checks: readonly Pick<Check, 'state'>[]): boolean {
  return checks.every(({ state }) => state !== 'bad' && state !== 'progressing');
}

/** A check of a list that could not be read. */
export function unread(section: Section, subject: string, fault: string): Check {
  return { section, subject, state: 'unknown', text: fault };
}
