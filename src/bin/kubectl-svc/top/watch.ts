import { sleep } from '../../../base/clock.ts';
import { errorLines } from '../errors.ts';
import { printable } from '../output/table.ts';
import type { Session } from '../session.ts';

/** Alternate screen, no cursor, no wrapping of lines: wrapped ones would push the first off the screen. */
const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const leave = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

/**
 * Redraws until Ctrl-C. On a terminal it uses an alternate screen, which disappears afterwards, and overwrites it line
 * by line, so that nothing flickers. Elsewhere it appends. A failed attempt is shown, on a terminal above the last good
 * one, and the loop goes on with a new connection to the query server; only a failure of the first attempt ends it.
 */
export async function watch(
  session: Session,
  intervalMs: number,
  draw: () => Promise<{ text: string; notes: readonly string[] }>,
): Promise<void> {
  const { stdout, stderr, signal, clock } = session;
  let frame = await draw();
  let failed = false;
  const onTerminal = stdout.isTerminal;
  if (onTerminal) stdout.write(enter);
  try {
    while (!signal.aborted) {
      const notes = frame.notes.map(printable);
      if (onTerminal) stdout.write(overwriting([...notes, ...frame.text.split('\n')], stdout.rows));
      else {
        if (!failed) stdout.write(`${frame.text}\n`);
        for (const note of notes) stderr.write(`${note}\n`);
      }
      await sleep(clock, intervalMs, signal);
      try {
        // The pods may have been replaced.
        if (failed) await session.reconnect();
        frame = await draw();
        failed = false;
      } catch (error) {
        frame = { text: frame.text, notes: errorLines(error).trimEnd().split('\n') };
        failed = true;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (onTerminal) stdout.write(leave);
  }
  session.endWatch();
}

/**
 * A screen that replaces the previous one. Each line is cleared before it is written: after a line that is too wide, the
 * cursor stands on its last visible character. Pure.
 */
function overwriting(lines: readonly string[], rows: number): string {
  const shown = lines.slice(0, Math.max(1, rows - 1));
  return `${home}${shown.map((line) => `${clearLine}${line}\n`).join('')}${clearBelow}`;
}
