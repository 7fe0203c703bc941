import { sleep } from '../../../base/clock.ts';
import { errorLines } from '../errors.ts';
import { printable } from '../output/table.ts';
import type { Session } from '../session.ts';

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

/**
 * Redraws until Ctrl-C. On a terminal it uses an alternate screen, which disappears afterwards, and overwrites it line
 * by line, so that nothing flickers. Elsewhere it appends. A failed attempt is shown and the loop goes on; only a
 * failure of the first attempt ends it.
 */
export async function watch(
  session: Session,
  intervalMs: number,
  draw: () => Promise<{ text: string; notes: readonly string[] }>,
): Promise<void> {
  const { stdout, stderr, signal, clock } = session;
  let frame = await draw();
  const onTerminal = stdout.isTerminal;
  if (onTerminal) stdout.write(enter);
  try {
    while (!signal.aborted) {
      const notes = frame.notes.map(printable);
      if (onTerminal) stdout.write(overwriting([...notes, ...frame.text.split('\n')], stdout.rows));
      else {
        stdout.write(`${frame.text}\n`);
        for (const note of notes) stderr.write(`${note}\n`);
      }
      await sleep(clock, intervalMs, signal);
      frame = await draw().catch((error: unknown) => {
        if (signal.aborted) throw error;
        return { text: frame.text, notes: errorLines(error).trimEnd().split('\n') };
      });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (onTerminal) stdout.write(leave);
  }
}

/** A screen that replaces the previous one. Pure. */
function overwriting(lines: readonly string[], rows: number): string {
  const shown = lines.slice(0, Math.max(1, rows - 1));
  return `${home}${shown.map((line) => `${line}${clearLine}`).join('\n')}${clearBelow}`;
}
