import type { PluginCommand } from './command.ts';

/** Every subcommand, in the order of the help. No implementation is loaded here. */
export const commands: readonly PluginCommand[] = [
  {
    name: 'query',
    summary: 'run a PromQL query over all nodes',
    load: async () => (await import('./query/query-command.ts')).registerQuery,
    complete: async () => (await import('./query/metric-names.ts')).metricNames,
  },
  {
    name: 'top',
    summary: 'requests, errors, latency and bytes of workloads, pods, services, namespaces or nodes',
    load: async () => (await import('./top/top-command.ts')).registerTop,
  },
  {
    name: 'observe',
    summary: 'spans and flows of all nodes as they come, filtered',
    load: async () => (await import('./observe/observe-command.ts')).registerObserve,
  },
  {
    name: 'status',
    summary: 'how the product and its resources fare, and what to do about faults',
    load: async () => (await import('./status/status-command.ts')).registerStatus,
    complete: async () => (await import('./status/parts.ts')).objectNames,
  },
  {
    name: 'explain',
    summary: 'why a pod, workload, monitor or node is captured or not, and how',
    load: async () => (await import('./explain/explain-command.ts')).registerExplain,
    complete: async () => (await import('./explain/target.ts')).targetNames,
  },
  {
    name: 'diff',
    summary: 'what applying monitors and policies would change on the nodes',
    load: async () => (await import('./diff/diff-command.ts')).registerDiff,
    errorCode: 2,
  },
  {
    name: 'support-bundle',
    summary: 'write an archive with everything that a maintainer asks for, redacted',
    load: async () => (await import('./support-bundle/support-bundle-command.ts')).registerSupportBundle,
  },
  {
    name: 'version',
    summary: 'versions of the plugin and of what runs in the cluster',
    load: async () => (await import('./version/version-command.ts')).registerVersion,
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands and flags in a shell',
    load: async () => (await import('./completion/completion-command.ts')).registerCompletion,
  },
];
