/**
 * The query server: PromQL over the stores of all agents, with no central store. It finds the agents, reads them over
 * mutual TLS, evaluates centrally, and reports which nodes an answer lacks.
 */
export { querySettingTable } from './settings.ts';
export { runQuery } from './run-query.ts';
export { startQueryServer, type QueryServer, type QueryServerOptions } from './query-server.ts';
export type { AgentDirectory, ExpectedAgent } from './agents/directory.ts';
