import { readFile } from 'node:fs/promises';
import { createInterface, type Key } from 'node:readline';
import { Writable } from 'node:stream';
import { OperatorError } from '../base/errors.ts';

const maxBytes = 64 * 1024;

/**
 * Reads a secret. The source `@FILE` names a file, `-` means standard input. Without a source, it reads standard input;
 * if that is a terminal, it asks the user to type the secret, without echo, and to end it with Ctrl-D.
 * Errors: ERR_INPUT_INVALID when the source has no known form, cannot be read, is empty, or is larger than 64 KiB;
 * ERR_ABORTED at Ctrl-C.
 */
export async function readSecret(source: string | undefined, prompt: string): Promise<Buffer> {
  const secret = await readSource(source, prompt);
  if (secret.length === 0) throw new OperatorError('ERR_INPUT_INVALID', '--private-key: nothing was given');
  if (secret.length > maxBytes)
    throw new OperatorError('ERR_INPUT_INVALID', `--private-key: more than ${maxBytes} bytes`);
  return secret;
}

async function readSource(source: string | undefined, prompt: string): Promise<Buffer> {
  if (source?.startsWith('@')) {
    try {
      return await readFile(source.slice(1));
    } catch (cause) {
      throw new OperatorError('ERR_INPUT_INVALID', `--private-key: cannot read ${source.slice(1)}`, { cause });
    }
  }
  if (source !== undefined && source !== '-') {
    // A key on the command line would be visible in the process list and the shell's history.
    throw new OperatorError('ERR_INPUT_INVALID', '--private-key takes @FILE or -, never the key itself');
  }
  const typed = source === undefined && process.stdin.isTTY;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: typed });
  let interrupted = false;
  lines.once('SIGINT', () => {
    interrupted = true;
    lines.close();
  });
  if (typed) {
    // Readline takes Ctrl-D for the end only on an empty line.
    process.stdin.on('keypress', (_text, { ctrl, name }: Key) => {
      if (ctrl !== true || name !== 'd' || lines.line === '') return;
      lines.write('\n');
      lines.close();
    });
    process.stderr.write(prompt);
  }
  const text: string[] = [];
  let length = 0;
  for await (const line of lines) {
    text.push(line);
    length += line.length + 1;
    // Enough to be refused as too large.
    if (length > maxBytes) break;
  }
  if (interrupted) throw new OperatorError('ERR_ABORTED', 'interrupted');
  return Buffer.from(text.join('\n') + (text.length > 0 ? '\n' : ''));
}
