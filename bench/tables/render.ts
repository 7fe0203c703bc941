import type { FigureLine } from '../run/figure.ts';
import type { Spread } from '../run/spread.ts';
import type { Part } from './parts.ts';
import { leastRuns, type Result } from './results.ts';

const begin = (name: string): string => `<!-- begin table: ${name} -->`;
const end = (name: string): string => `<!-- end table: ${name} -->`;

/** The names of the tables that a guide has a place for, in the guide's order. */
export function placesOf(guide: string): string[] {
  return [...guide.matchAll(/^<!-- begin table: (\S+) -->$/gm)].map(([, name]) => name!);
}

/**
 * The guide with a new table for each of `parts` of the benchmarks.
 * Errors: the guide has no place for a part, or the place has no end.
 */
export function withTables(guide: string, parts: readonly Part[], results: readonly Result[]): string {
  let text = guide;
  for (const part of parts) {
    const [from, to] = [text.indexOf(begin(part.name)), text.indexOf(end(part.name))];
    if (from < 0 || to < from) throw new Error(`the guide has no place ${begin(part.name)} … ${end(part.name)}`);
    const result = results.find(({ run }) => run.part === part.name);
    const head = text.slice(0, from + begin(part.name).length);
    text = `${head}\n\n${tableOf(part, result)}\n${text.slice(to)}`;
  }
  return text;
}

/** The text between the markers of a part. */
export function tableOf(part: Part, result: Result | undefined): string {
  const shown = result?.figures.filter(({ name, runs }) => runs.count >= leastRuns && (part.shows?.test(name) ?? true));
  if (result === undefined || shown!.length === 0)
    return `No run of five yet: \`npm run bench:tables -- --only ${part.name}\`.\n`;
  const { command, at, load, machine, seconds } = result.run;
  const facts = `\`${command}\`, ${at.slice(0, 10)}, ${Math.round(seconds)} s on ${machine}, load before it ${load}.`;
  return [facts, ...bySetting(shown!).map(settingTable)].join('\n\n') + '\n';
}

function bySetting(figures: readonly FigureLine[]): FigureLine[][] {
  const groups = new Map<string, FigureLine[]>();
  for (const figure of figures) {
    const key = JSON.stringify([figure.cores, figure.caches, figure.runs.count]);
    groups.set(key, [...(groups.get(key) ?? []), figure]);
  }
  return [...groups.values()];
}

function settingTable(figures: FigureLine[]): string {
  const { cores, caches, runs } = figures[0]!;
  const peer = figures.some(({ peerRuns }) => peerRuns !== null);
  const goals = figures.some(({ asks }) => asks !== null);
  const head = ['figure', 'unit', 'ours', ...(peer ? ['peer', 'ratio'] : []), ...(goals ? ['goal'] : [])];
  const rows = figures.map((figure) => [
    `\`${figure.name}\``,
    figure.unit,
    spreadText(figure.runs),
    ...(peer ? [spreadText(figure.peerRuns), spreadText(figure.ratioRuns)] : []),
    ...(goals ? [goalText(figure)] : []),
  ]);
  return [
    `- Cores: ${cores}`,
    `- Caches: ${caches}`,
    `- ${runs.count} runs; each cell is min · **median** · max`,
    '',
    ...[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n');
}

function spreadText(spread: Spread | null): string {
  if (spread === null) return '';
  const { min, median, max } = spread;
  return min === max
    ? `**${numberText(median)}**`
    : `${numberText(min)} · **${numberText(median)}** · ${numberText(max)}`;
}

function goalText({ asks, met }: FigureLine): string {
  return asks === null ? '' : `${asks}: ${met === null ? 'not judged' : met ? 'met' : '**missed**'}`;
}

/** A number with three significant digits, and thousands in groups. */
export function numberText(value: number): string {
  if (Math.abs(value) >= 1_000)
    return Number(value.toPrecision(3)).toLocaleString('en-US', { maximumFractionDigits: 0 });
  return String(Number(value.toPrecision(3)));
}
