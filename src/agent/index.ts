/**
 * The agent of one node: takes OTLP from the instrument beside it, turns it into series, keeps them in the embedded
 * store, and serves scrape, remote read, the span stream and the capture configuration.
 * Data flows in one direction: otlp → ingest → mapping → tsdb. `capture` decides the rules; `servers` only serve.
 */
export { runAgent, type AgentDeps, type AgentPorts } from './run-agent.ts';
export { initConfig } from './init-config.ts';
export { agentSettingTable, initConfigSettingTable, type AgentSettings, type InitConfigSettings } from './settings.ts';
