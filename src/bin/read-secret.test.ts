import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { needing, type Need } from '../testing/needs.ts';
import { until } from '../testing/until.ts';

const module = fileURLToPath(new URL('read-secret.ts', import.meta.url));
const program = (source: string): string => `
  import { readSecret } from ${JSON.stringify(module)};
  readSecret(${source}, 'key: ').then((secret) => console.log(String(secret.length)), (error) => console.log(error.message));`;

/** The output of a process that reads the secret from its standard input. */
function read(input: string): string {
  const args = ['--input-type=module', '-e', program("'-'")];
  return spawnSync(process.execPath, args, { input, encoding: 'utf8' }).stdout.trim();
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

/** The `script` of util-linux runs a command on a terminal of its own; that of other systems has other options. */
const pseudoTerminal: Need = {
  name: 'script',
  missing: spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')
    ? undefined
    : 'no script of util-linux: apt-get install bsdutils (Debian)',
};

/** All that a terminal shows of a process that asks for the secret and gets these keys after its prompt. */
async function type(keys: string): Promise<string> {
  const child = spawn('script', ['-qec', '"$NODE" --input-type=module -e "$PROGRAM"', '/dev/null'], {
    env: { PATH: process.env['PATH'], SHELL: '/bin/sh', NODE: process.execPath, PROGRAM: program('undefined') },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  const ended = once(child, 'close');
  try {
    await until('the prompt', () => shown === 'key: ');
    child.stdin.write(keys);
    await until('the end', () => child.exitCode !== null);
  } finally {
    child.kill();
    await ended;
  }
  return shown;
}

needing(pseudoTerminal).describe('a secret that is typed at a terminal', () => {
  test.each<[title: string, keys: string, answer: string]>([
    ['ends with Ctrl-D and is not shown', 'PEM\r\u0004', '4'],
    ['ends with Ctrl-D also where its last line has no end', 'PEM\rEND\u0004', '8'],
    ['is not taken when Ctrl-C follows', 'PEM\r\u0003', 'interrupted'],
    ['is not taken when Ctrl-C follows within a line', 'PEM\u0003', 'interrupted'],
  ])('%s', async (_, keys, answer) => {
    expect(await type(keys)).toBe(`key: ${answer}\r\n`);
  });
});
