import type { PluginCommand } from './command.ts';

/** Every subcommand, in the order of the help. Nothing of them is loaded here. */
export const commands: readonly PluginCommand[] = [
  {
    name: 'query',
    summary: 'ask PromQL of all nodes',
    load: async () => (await import('./query/query-command.ts')).registerQuery,
  },
];
