/**
 * The agent of one node: takes OTLP from the instrument beside it, turns it into series, keeps them in the embedded
 * store, and serves scrape, remote read, the span stream and the capture configuration.
 * Data flows in one direction: otlp → ingest → mapping → tsdb. `capture` decides the rules of mapping; `servers` only
 * serve.
 */
export { runAgent, type AgentPorts } from './run-agent.ts';
export { agentSettingTable, initConfigSettingTable } from './settings.ts';
