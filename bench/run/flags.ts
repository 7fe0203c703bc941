import { parseArgs } from 'node:util';

/** An unknown flag, or a wrong value of a flag. The message is for the caller. */
export class WrongFlag extends Error {}

/** One flag of a benchmark. */
export type Option =
  | { readonly kind: 'switch'; readonly help: string }
  | { readonly kind: 'text'; readonly help: string }
  | {
      readonly kind: 'number';
      readonly help: string;
      readonly value: number;
      /** The value with `--quick`. Default: `value`. */
      readonly quick?: number;
    };

export type Options = Readonly<Record<string, Option>>;

/** What a benchmark measures, and the flags that it takes. */
export interface Command<Own extends Options = Options> {
  /** The name of its npm script. */
  readonly name: string;
  /** What the benchmark measures, and its peer; for `--help`. */
  readonly measures: string;
  readonly options?: Own;
}

/** Flags that every benchmark has; a benchmark's own flag replaces one of the same name. */
export const common = {
  quick: {
    kind: 'switch',
    help: 'small sizes and two runs: shows that the benchmark works, but its figures mean nothing',
  },
  runs: { kind: 'number', value: 5, quick: 2, help: 'runs of each figure; ours and the peer take turns' },
  help: { kind: 'switch', help: 'this text' },
} as const satisfies Options;

export type Flags<Own extends Options> = {
  readonly [Name in keyof (Own & typeof common)]: (Own & typeof common)[Name] extends { kind: 'switch' }
    ? boolean
    : (Own & typeof common)[Name] extends { kind: 'text' }
      ? string
      : number;
};

/**
 * The values of the flags; a text flag that is not given is empty. Errors: `WrongFlag` with the reason and a hint at
 * `--help`.
 */
export function readFlags<Own extends Options>({ name, options }: Command<Own>, args: readonly string[]): Flags<Own> {
  const all: Options = { ...common, ...options };
  const kinds = Object.fromEntries(
    Object.entries(all).map(([flag, { kind }]) => [
      flag,
      { type: kind === 'switch' ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  try {
    const { values } = parseArgs({ args: [...args], options: kinds });
    const quick = values['quick'] === true;
    const read = Object.entries(all).map(([flag, option]) => [flag, valueOf(flag, option, values[flag], quick)]);
    return Object.fromEntries(read) as Flags<Own>;
  } catch (error) {
    throw new WrongFlag(`${(error as Error).message}\nnpm run ${name} -- --help lists the flags.`, { cause: error });
  }
}

function valueOf(flag: string, option: Option, given: unknown, quick: boolean): boolean | string | number {
  if (option.kind === 'switch') return given === true;
  if (option.kind === 'text') return String(given ?? '');
  if (given === undefined) return quick ? (option.quick ?? option.value) : option.value;
  const value = Number(given);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${flag} is ${String(given)}, not a whole number above 0`);
  return value;
}

export function helpText<Own extends Options>({ name, measures, options }: Command<Own>): string {
  const all = Object.entries<Option>({ ...common, ...options });
  const shown = all.map(([flag, option]) => [`--${flag}${argument(option)}`, describe(option)] as const);
  const width = Math.max(...shown.map(([flag]) => flag.length));
  return [
    `npm run ${name} -- [flags]`,
    '',
    measures,
    '',
    ...shown.map(([flag, text]) => `  ${flag.padEnd(width)}  ${text}`),
    '',
    'stdout has one JSON object a line: {name, unit, ours, peer, ratio, goal, asks, met, cores, caches, runs, peerRuns,',
    'ratioRuns}. ours, peer and ratio are medians; runs, peerRuns and ratioRuns are {count, min, median, max}.',
    'Progress goes to stderr. Exit codes: 0, 1 when the benchmark failed, 2 for wrong flags. A missed goal is not a failure.',
    '',
  ].join('\n');
}

function argument({ kind }: Option): string {
  return kind === 'switch' ? '' : kind === 'number' ? ' N' : ' TEXT';
}

function describe(option: Option): string {
  if (option.kind !== 'number') return option.help;
  const quick = option.quick === undefined ? '' : `, ${option.quick} with --quick`;
  return `${option.help} (${option.value}${quick})`;
}
