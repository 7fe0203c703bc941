import type { Styles } from '../output/style.ts';
import { printable, table } from '../output/table.ts';
import { about, sections, type Check, type CheckState, type Section } from './check.ts';
import { nodeWayOut } from './hints.ts';
import type { NodeRow } from './node-rows.ts';
import type { StatusReport } from './report.ts';

/** One sign for each state, distinguishable without colours. */
export const signs: Readonly<Record<CheckState, string>> = {
  ok: '✓',
  note: '!',
  progressing: '…',
  bad: '✗',
  unknown: '?',
};

/** A state's sign in its colour. */
export function sign(state: CheckState, style: Styles): string {
  const paint = { ok: style.green, note: style.yellow, progressing: style.yellow, bad: style.red, unknown: style.cyan };
  return paint[state](signs[state]);
}

/** The report as text: a heading for each section, a line for each check, a verdict at the end. Pure. */
export function reportText({ well, checks }: StatusReport, style: Styles): string {
  const bySection = Map.groupBy(checks, ({ section }) => section);
  const parts = [...bySection].map(([section, members]) => sectionText(section, members, style));
  return `${parts.join('\n')}\n${verdict(well, checks, style)}\n`;
}

function sectionText(section: Section, checks: readonly Check[], style: Styles): string {
  const lines = checks.map((check) => `  ${checkLine(check, style)}\n`);
  return `${style.bold(sections[section])}\n${lines.join('')}`;
}

/** `✗ subject: fault → remedy`. */
export function checkLine({ subject, state, text, hint }: Check, style: Styles): string {
  const way = hint === undefined || state === 'ok' ? '' : ` ${style.dim(`→ ${printable(hint)}`)}`;
  return `${sign(state, style)} ${printable(subject)}: ${printable(text)}${way}`;
}

function verdict(well: boolean, checks: readonly Check[], style: Styles): string {
  const count = (state: CheckState): number => checks.filter((c) => c.state === state).length;
  const unknown = count('unknown');
  const unread = unknown > 0 ? `; ${unknown} ${unknown === 1 ? 'check' : 'checks'} could not be made` : '';
  if (well && unread === '') return `${sign('ok', style)} all is well`;
  if (well) return `${sign(count('ok') > 0 ? 'ok' : 'unknown', style)} no fault was found${unread}`;
  const parts = [
    ...(count('bad') > 0 ? [`${count('bad')} not well`] : []),
    ...(count('progressing') > 0 ? [`${count('progressing')} on the way`] : []),
  ];
  return `${sign(count('bad') > 0 ? 'bad' : 'progressing', style)} ${parts.join(', ')}${unread}`;
}

/** Nodes as a table, then a line with the remedy for each that is not well. Pure. */
export function nodeTable(rows: readonly NodeRow[], style: Styles): string {
  const columns = ['NODE', 'READY', 'AGENT', 'CAPTURE', 'MONITORS', 'POLICIES', 'FILE'].map((title) => ({
    title,
    right: title === 'MONITORS',
  }));
  const cells = rows.map((r) => [
    r.name,
    r.ready ? 'True' : 'False',
    r.agent ?? '',
    r.reason,
    String(r.monitors ?? ''),
    r.policies.join(','),
    r.file,
  ]);
  const captureColumn = 3;
  const text = table(columns, cells, {
    paint: (cell, column, row) => (column === captureColumn && rows[row]!.state === 'bad' ? style.red(cell) : cell),
  });
  const notes = rows
    .filter(({ state, message }) => state !== 'ok' && message !== '')
    .map(({ name, state, reason, message }) => {
      const hint = state === 'bad' ? nodeWayOut(reason, name) : undefined;
      return `${checkLine(about('nodes', name)(state, message, hint), style)}\n`;
    });
  return notes.length > 0 ? `${text}\n${notes.join('')}` : text;
}
