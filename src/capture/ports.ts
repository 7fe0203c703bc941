import { OperatorError } from '../base/errors.ts';

/** An inclusive range of TCP ports; a single port has `port === endPort`. */
export interface PortRange {
  port: number;
  endPort: number;
}

/**
 * Parses the flag form `80,443,8000-8999`.
 * Errors: ERR_CONFIG_INVALID that names `field`.
 */
export function parsePorts(text: string, field: string): PortRange[] {
  const ranges = text.split(',').map((part) => {
    const match = /^\s*([0-9]{1,5})(?:-([0-9]{1,5}))?\s*$/.exec(part);
    const port = Number(match?.[1]);
    const endPort = match?.[2] === undefined ? port : Number(match[2]);
    if (!match || port < 1 || endPort > 65_535 || endPort < port) {
      throw new OperatorError(
        'ERR_CONFIG_INVALID',
        `${field}: ${JSON.stringify(part)} is not a port or a range such as 8000-8999`,
      );
    }
    return { port, endPort };
  });
  return normalisePorts(ranges);
}

/** Sorts ranges and joins those that overlap. Adjacent ranges are not joined: `80,81` does not become `80-81`. */
export function normalisePorts(ranges: readonly PortRange[]): PortRange[] {
  const sorted = ranges.toSorted((a, b) => a.port - b.port || a.endPort - b.endPort);
  const merged: PortRange[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last && range.port <= last.endPort) last.endPort = Math.max(last.endPort, range.endPort);
    else merged.push({ ...range });
  }
  return merged;
}

/** The ranges in the notation of the instrument: `80,443,9000-9010`. */
export function portsText(ranges: readonly PortRange[]): string {
  return ranges.map((r) => (r.port === r.endPort ? `${r.port}` : `${r.port}-${r.endPort}`)).join(',');
}

/** True for a port in one of the ranges of a text from `portsText`. */
export function holdsPort(text: string, port: number): boolean {
  return text.split(',').some((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    return port >= from && port <= to;
  });
}

/** The ports of a spec, where a single port has no end. Sorted, without overlaps. */
export function portRanges(list: readonly { port: number; endPort?: number }[]): PortRange[] {
  return normalisePorts(list.map(({ port, endPort = port }) => ({ port, endPort })));
}
