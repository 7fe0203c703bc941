import { Argument, Command, Option } from 'commander';
import { shapeOf } from './command-shape.ts';
import { complete } from './complete.ts';

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
program.command('read').argument('<file>');
const shape = shapeOf(program);

test('the shape of a command has subcommands, visible options and the fixed values of options and arguments', () => {
  expect(shape.commands.map((c) => c.name)).toEqual(['run', 'other', 'read']);
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

test.each<[typed: string, answer: string]>([
  ['', "run\trun what isn't running\nother\tsomething else\nread\n:4\n"],
  ['ru', "run\trun what isn't running\n:4\n"],
  ['run ', 'once\tone time\n:4\n'],
  ['run --l', '--level\tleast severe level\n:4\n'],
  ['run --o', ':4\n'],
  ['run --level ', 'debug\ninfo\n:4\n'],
  ['other --level ', 'low\nhigh\n:4\n'],
  ['other --level=h', 'high\n:4\n'],
  ['other --level low ', 'red\nblue\n:4\n'],
  ['other r', 'red\n:4\n'],
  ['run --dir ', ':0\n'],
  ['read ', ':0\n'],
])('"tool %s" is completed as cobra would complete it', async (typed, answer) => {
  expect(await complete(shape, typed.split(' '))).toBe(answer);
});

test('values that are not in the shape come from the functions of the caller', async () => {
  const more = {
    valuesOf: (flag: string) => (flag === '--dir' ? Promise.resolve(['/srv', '/var']) : undefined),
    argumentsOf: async (command: string, word: string, operands: readonly string[]) => [
      `${word}${command}${operands.length}`,
    ],
  };
  expect(await complete(shape, ['run', '--dir', '/v'], more)).toBe('/var\n:4\n');
  expect(await complete(shape, ['read', 'a', 'b'], more)).toBe('bread1\n:4\n');
});
