import { spawnSync } from 'node:child_process';
import { builtPrograms } from '../cluster/own-programs.ts';
import { svc } from './tools.ts';

/** The script that `svc completion bash` prints, run by bash as if a user had pressed Tab. */

let script: string;
beforeAll(async () => {
  const { code, stdout, stderr } = await svc(['completion', 'bash'], {});
  if (code !== 0) throw new Error(stderr);
  script = stdout;
}, 30_000);

/** A shell function in place of the `svc` on the PATH, which the script calls. */
const program = `svc() { '${process.execPath}' '${builtPrograms.svc}' "$@"; }`;

function completions(...words: string[]): string[] {
  const ask = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _svc; printf "%s\\n" "${COMPREPLY[@]}"';
  const { status, stdout, stderr } = spawnSync('bash', ['-c', `${program}\n${script}\n${ask}`, 'bash', ...words], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.split('\n').filter((word) => word !== '');
}

test('commands and subcommands are offered', () => {
  expect(completions('svc', '')).toEqual(
    expect.arrayContaining(['operator', 'agent', 'query', 'install', 'uninstall']),
  );
  expect(completions('svc', 'uni')).toEqual(['uninstall']);
  expect(completions('svc', 'agent', '')).toContain('init-config');
});

test('flags of the current command are offered, and the values of flags with a fixed set', () => {
  expect(completions('svc', 'install', '--query-r')).toEqual(['--query-replicas']);
  expect(completions('svc', 'uninstall', '--query-r')).toEqual([]);
  expect(completions('svc', 'operator', '--custom-metrics', '')).toEqual(['auto', 'force', 'off']);
  expect(completions('svc', 'operator', '--log-level', 'd')).toEqual(['debug']);
});

test('a value without a fixed set is left to the shell', () => {
  expect(completions('svc', 'install', '--kubeconfig', '')).toEqual([]);
});
