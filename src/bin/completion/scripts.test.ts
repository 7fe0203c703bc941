import { Argument, Command, Option } from 'commander';
import { shapeOf } from './command-shape.ts';
import { completionScript, shells } from './scripts.ts';

const program = new Command('tool').version('1.2.3').description('does things');
program
  .command('run')
  .description("run what isn't running [RUN_; unset]")
  .addOption(new Option('--level <value>', 'least severe level [LEVEL; default info]').choices(['debug', 'info']))
  .option('--dir <path>', 'where')
  .addOption(new Option('--old', 'kept for scripts').hideHelp())
  .command('once')
  .description('one time');
program
  .command('other')
  .description('something else')
  .addOption(new Option('--level <value>', 'another level').choices(['low', 'high']))
  .addArgument(new Argument('<colour>').choices(['red', 'blue']));
const shape = shapeOf(program);

test('the shape has subcommands, visible options and the fixed values of options and arguments', () => {
  expect(shape.commands.map((c) => c.name)).toEqual(['run', 'other']);
  const [run, other] = shape.commands;
  expect(run).toMatchObject({ description: "run what isn't running", commands: [{ name: 'once' }] });
  expect(run!.options.map((o) => o.flag)).toEqual(['--level', '--dir', '--help']);
  expect(run!.options[0]).toEqual({
    flag: '--level',
    description: 'least severe level',
    takesValue: true,
    choices: ['debug', 'info'],
  });
  expect(other!.values).toEqual(['red', 'blue']);
});

test.each(shells)('the %s script knows every command and flag, and says how it is loaded', (shell) => {
  const script = completionScript(shell, shape);
  expect(script.split('\n').slice(0, 2).join('\n')).toContain(`tool completion ${shell}`);
  for (const word of ['run', 'once', 'other', 'level', 'dir', 'version', 'red', 'debug info', 'low high'])
    expect(script).toContain(word);
  expect(script).not.toMatch(/--old|-l old/);
});

test('values of a flag depend on the command that it belongs to', () => {
  const bash = completionScript('bash', shape);
  expect(bash).toMatch(/'tool run --level'\) COMPREPLY=\(\$\(compgen -W 'debug info'/);
  expect(bash).toMatch(/'tool other --level'\) COMPREPLY=\(\$\(compgen -W 'low high'/);
  const zsh = completionScript('zsh', shape);
  expect(zsh).toContain("('tool run --level') compadd -- debug info;");
  expect(zsh).toContain("('tool other --level') compadd -- low high;");
  const fish = completionScript('fish', shape).split('\n');
  const level = (word: string) =>
    fish.find((line) => line.includes(`seen_subcommand_from ${word}`) && line.includes('-l level'));
  expect([level('run'), level('other')]).toEqual([
    expect.stringContaining("-a 'debug info'"),
    expect.stringContaining("-a 'low high'"),
  ]);
});

test('text of a help cannot end the quotes around it', () => {
  for (const shell of ['zsh', 'fish'] as const)
    expect(completionScript(shell, shape)).toContain(String.raw`run what isn'\''t running`);
});
