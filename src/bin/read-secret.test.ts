import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const module = fileURLToPath(new URL('read-secret.ts', import.meta.url));
const script = `
  import { readSecret } from ${JSON.stringify(module)};
  readSecret('-', '').then((secret) => console.log(secret.length), (error) => console.log(error.message));`;

/** The output of a process that reads the secret from its standard input. */
function read(input: string): string {
  return spawnSync(process.execPath, ['--input-type=module', '-e', script], { input, encoding: 'utf8' }).stdout.trim();
}

const line = 'k'.repeat(63);
test.each<[title: string, input: string, answer: string]>([
  ['is read whole', `${line}\n`.repeat(1_024), '65536'],
  [
    'is refused when it is larger than 64 KiB, not cut',
    `${line}\n`.repeat(1_025),
    '--private-key: more than 65536 bytes',
  ],
  ['is refused for its size when it is one long line', 'k'.repeat(70_000), '--private-key: more than 65536 bytes'],
  ['is refused when it is empty', '', '--private-key: nothing was given'],
])('a secret from standard input %s', (_, input, answer) => {
  expect(read(input)).toBe(answer);
});
