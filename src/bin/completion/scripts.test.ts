import { spawnSync } from 'node:child_process';
import { completionScript, shells } from './scripts.ts';

test.each(shells)('the %s script says how to load it, and calls the program by its name', (shell) => {
  const script = completionScript(shell, 'tool');
  expect(script.split('\n').slice(0, 2).join('\n')).toContain(`tool completion ${shell}`);
  expect(script).toContain('tool __complete ');
});

test('bash offers what the program answers for the words up to the cursor', () => {
  const tool = `tool() { printf '%s\\tabout it\\n' "$@" two\\ words; printf ':4\\n'; }`;
  const ask = 'COMP_WORDS=(tool run "a b" --le later); COMP_CWORD=3; _tool; printf "%s|" "${COMPREPLY[@]}"';
  const { stdout, stderr } = spawnSync('bash', ['-c', [tool, completionScript('bash', 'tool'), ask].join('\n')], {
    encoding: 'utf8',
  });
  expect([stdout, stderr]).toEqual(['__complete|run|a b|--le|two words|', '']);
});
