import type { Output } from '../host.ts';

/** Functions that highlight text; each returns the text unchanged when the output is not a terminal. */
export interface Styles {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
  /** Shows the text in colour number `n` of a list of distinguishable colours. */
  series(n: number, text: string): string;
  readonly enabled: boolean;
}

const seriesColours = [36, 33, 35, 32, 34, 31, 96, 93];

/** Colours for a terminal, unless `NO_COLOR` is set (https://no-color.org) or the terminal is dumb. */
export function styles(output: Pick<Output, 'isTerminal'>, env: Readonly<Record<string, string | undefined>>): Styles {
  const enabled = output.isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  const coloured =
    (code: number) =>
    (text: string): string =>
      enabled && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text;
  return {
    bold: coloured(1),
    dim: coloured(2),
    red: coloured(31),
    green: coloured(32),
    yellow: coloured(33),
    cyan: coloured(36),
    series: (n, text) => coloured(seriesColours[n % seriesColours.length]!)(text),
    enabled,
  };
}
