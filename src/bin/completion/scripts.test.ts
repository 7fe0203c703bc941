import { spawnSync } from 'node:child_process';
import { completionScript, shells } from './scripts.ts';

test.each(shells)('the %s script says how to load it, and calls the program by its name', (shell) => {
  const script = completionScript(shell, 'tool');
  expect(script.split('\n').slice(0, 2).join('\n')).toContain(`tool completion ${shell}`);
  expect(script).toContain('tool __complete ');
});

test('bash offers what the program answers for the words up to the cursor', () => {
  const tool = `tool() { printf '%s\\tabout it\\n' "$@" two\\ words; printf ':4\\n'; }`;
  expect(inBash(tool, ['tool', 'run', "'a b'", '--le', 'later'], 3)).toBe("__complete|run|'a b'|--le|two words|");
});

test.each<[typed: string, broken: string[], asked: string, answers: string[], offered: string]>([
  ['--level=de', ['--level', '=', 'de'], '--level=de', ['debug'], 'debug'],
  ['--level=', ['--level', '='], '--level=', ['debug', 'info'], 'debug|info'],
  ['--level = de', ['--level', '=', 'de'], '--level|=|de', ['debug'], 'debug'],
  ['job:re', ['job', ':', 're'], 'job:re', ['job:requests:rate'], 'requests:rate'],
  ['job::a=', ['job', '::', 'a', '='], 'job::a=', ['job::a=b'], 'b'],
  ['a:b c', ['a', ':', 'b', 'c'], 'a:b|c', ['ca:b'], 'ca:b'],
  ['a: b', ['a', ':', 'b'], 'a:|b', ['b'], 'b'],
  ['a>b', ['a', '>', 'b'], 'a|>|b', ['b'], 'b'],
  // Where COMP_WORDBREAKS lacks the character, bash replaces the whole word.
  ['job:re', ['job:re'], 'job:re', ['job:requests'], 'job:requests'],
])('bash breaks "%s" into %j: the program is asked for %s, answers %j, and %s is offered', (typed, broken, ...rest) => {
  const [asked, answers, offered] = rest;
  const lines = answers.map((answer) => `'${answer}'`).join(' ');
  const tool = `tool() { shift; (IFS='|'; echo "$*" >&3); printf '%s\\n' ${lines}; }`;
  const words = ['tool', ...broken];
  expect(inBash(tool, words, broken.length, `tool ${typed}`)).toBe(`${asked}\n${offered}|`);
});

/** What the script of `tool` offers in bash, where the line is broken into these words; first what `tool` writes to 3. */
function inBash(tool: string, words: readonly string[], cursor: number, line = words.join(' ')): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const set = `COMP_WORDS=(${words.map(quoted).join(' ')}); COMP_CWORD=${cursor}; COMP_LINE=${quoted(line)}`;
  const ask = `exec 3>&1; ${set}; _tool; printf '%s|' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', [tool, completionScript('bash', 'tool'), ask].join('\n')], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return stdout;
}
