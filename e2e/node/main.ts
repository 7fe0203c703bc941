import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runNode } from './node-process.ts';
import type { NodeConfig } from './node-process.ts';
import type { NodeRequest, NodeReply } from './process-node.ts';

/**
 * A node that runs containers as plain processes, in a process of its own: `node main.ts CONFIG.json`, driven over IPC
 * by `process-node.ts`.
 */
const config = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as NodeConfig;
const log = (line: string): void =>
  appendFileSync(join(config.dir, 'node.log'), `${new Date().toISOString()} ${line}\n`);

process.on('uncaughtException', (error) => {
  log(`uncaught: ${error.stack ?? error.message}`);
  process.exit(1);
});
const node = await runNode(config, log);
const reply = (message: NodeReply): void => void process.send?.(message, undefined, undefined, () => undefined);

const stop = async (): Promise<void> => {
  await node.stop(1000);
  process.exit(0);
};
process.on('message', (request: NodeRequest) => {
  if (request.op === 'stop') return void stop();
  try {
    node.killContainer(request.pod, request.container, request.signal);
    reply({ id: request.id });
  } catch (error) {
    reply({ id: request.id, error: error instanceof Error ? error.message : String(error) });
  }
});
// The owner is gone: the node ends, and its containers with it.
process.on('disconnect', () => void stop());
reply({ id: 'started' });
