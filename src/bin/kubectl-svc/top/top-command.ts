import { Argument, Option } from 'commander';
import type { Register } from '../command.ts';
import { UsageError } from '../errors.ts';
import { outputOption } from '../output/print.ts';
import { kindAliases, sortKeys, topFormats, topKindNames, type TopFlags, type TopKindName } from './top-flags.ts';

/** `kubectl svc top`: request rates, errors and latencies of the serving objects. */
export const registerTop: Register = (command, run) => {
  command
    .addArgument(new Argument('[kind]', 'what to list').choices(topKindNames).default('workloads').argParser(kindNamed))
    .option('--window <duration>', 'time that rates and quantiles are taken over', '5m')
    .addOption(new Option('--sort-by <key>', 'largest first').choices(sortKeys).default('rps'))
    .option('-l, --selector <labels>', 'only pods with these labels; for nodes and namespaces, their own labels count')
    .option('--limit <number>', 'most rows to show, 0 for all', '0')
    .option('-w, --watch', 'refresh until Ctrl-C', false)
    .option('--interval <duration>', 'time between two refreshes of --watch', '5s')
    .addOption(outputOption('wide adds the sizes of bodies', topFormats).default('table'))
    .option('--no-headers', 'leave out the headings')
    .addHelpText('after', examples)
    .action(
      run(async (session, kind: TopKindName, flags: TopFlags) => {
        const { top } = await import('./top.ts');
        await top(session, kind, flags);
      }),
    );
};

const examples = `
A dash is a figure without a number: no request in the window. IN and OUT are bytes on the network, unknown without flows.

Examples:
  # the busiest workloads of the context's namespace; of all namespaces, the worst first
  kubectl svc top
  kubectl svc top -A --sort-by errors

  # pods of one app, again every five seconds
  kubectl svc top pods -n shop -l app=catalog --watch`;

/** Errors: UsageError that lists the kinds. */
function kindNamed(text: string): TopKindName {
  const found = topKindNames.find((name) => name === text) ?? (Object.hasOwn(kindAliases, text) && kindAliases[text]);
  if (!found) throw new UsageError(`${JSON.stringify(text)} is none of ${topKindNames.join(', ')}`);
  return found;
}
