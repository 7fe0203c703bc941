/**
 * Benchmarks the agent as a whole, from OTLP bytes on the wire to durable samples, beside a Prometheus that gets the
 * same posts. The agent is the bundled program that the images contain; the benchmark builds it first. With --quick the
 * agent runs from the sources, and its process takes more memory. Source of the goals: the product's performance
 * targets.
 */
import { bench } from '../run/bench.ts';
import { WrongFlag } from '../run/flags.ts';
import { oneCore } from '../run/cores.ts';
import { benchBudget } from './budget.ts';
import { benchEveryday } from './everyday.ts';
import { startAgent, startPrometheus } from './process.ts';
import { buildProgram, sourceProgram } from './program.ts';
import { benchRates } from './rates.ts';
import { benchStart } from './start.ts';

await bench(
  {
    name: 'bench:agent',
    measures:
      'An agent beside a Prometheus with its OTLP receiver on; both get the same HTTP posts. rates: samples per second of\n' +
      "the receiver's CPU time, and scrapes of the agent's page while posts come in. budget: the agent's memory and CPU\n" +
      'time at the pace of a node. start: time from its start to an answer on every port. everyday, which runs only if\n' +
      'it is named: the share of a core that both take on a node of everyday size, ten minutes after their start.',
    options: {
      only: { kind: 'text', help: 'rates, budget, start or everyday; default: all but everyday, with --quick all' },
      pods: { kind: 'number', value: 50, quick: 10, help: 'pods of the rates, 440 series each' },
      rounds: { kind: 'number', value: 40, quick: 12, help: 'intervals of the rates' },
      'budget-pods': { kind: 'number', value: 114, quick: 12, help: 'pods of the budget' },
      'history-rounds': {
        kind: 'number',
        value: 143,
        quick: 5,
        help: 'intervals of the budget that are history, 23 s each',
      },
      'pace-seconds': { kind: 'number', value: 10, quick: 3, help: 'how long the pace of a node is kept' },
      'everyday-pods': { kind: 'number', value: 12, quick: 2, help: 'pods of everyday' },
      'age-seconds': {
        kind: 'number',
        value: 600,
        quick: 5,
        help: 'age of the processes of everyday; a run takes 2.4 times as long with both sides',
      },
      disks: { kind: 'text', help: 'a folder that keeps the filled disks of start' },
      'no-peer': { kind: 'switch', help: 'no Prometheus' },
    },
  },
  async (stage) => {
    const { flags, atEnd, quick } = stage;
    if (!['', 'rates', 'budget', 'start', 'everyday'].includes(flags.only))
      throw new WrongFlag(`--only is ${flags.only}, not rates, budget, start or everyday`);
    const { program, remove } = quick ? sourceProgram() : await buildProgram();
    atEnd(remove);
    const { wrapper, says, saysAlone } = oneCore();
    const ours = (): ReturnType<typeof startAgent> => startAgent(program, wrapper, atEnd);
    const peer = flags['no-peer'] ? undefined : () => startPrometheus(wrapper, atEnd);
    const runs = (part: string): boolean => flags.only === '' || flags.only === part;
    if (runs('rates')) {
      await benchRates(stage, {
        pods: flags.pods,
        rounds: flags.rounds,
        youngRounds: Math.max(2, Math.floor(flags.rounds / 5)),
        start: { ours, peer },
        cores: says('receiver'),
      });
    }
    if (runs('budget')) {
      await benchBudget(stage, {
        pods: flags['budget-pods'],
        historyRounds: flags['history-rounds'],
        paceSeconds: flags['pace-seconds'],
        start: ours,
        cores: saysAlone('agent', 'senders'),
      });
    }
    if (runs('start')) {
      await benchStart(stage, {
        pods: flags['budget-pods'],
        rounds: flags['history-rounds'],
        disks: flags.disks,
        program,
        wrapper,
        cores: saysAlone('agent', 'callers'),
      });
    }
    if (flags.only === 'everyday' || (quick && flags.only === '')) {
      await benchEveryday(stage, {
        pods: flags['everyday-pods'],
        ageSeconds: flags['age-seconds'],
        start: { ours, peer },
        cores: says('receiver'),
      });
    }
  },
);
