import { nodeMemory } from '../../src/render/node-memory.ts';

/** What images and manifests set for our processes; the test holds these to both. */

/** Every image. */
export const imageEnvironment = { NODE_ENV: 'production' } as const;

/** The containers of agents and query servers. */
export const agentEnvironment = { ...imageEnvironment, ...nodeMemory('agent') } as const;
export const queryEnvironment = { ...imageEnvironment, ...nodeMemory('query') } as const;
export const minterEnvironment = { ...imageEnvironment, ...nodeMemory('minter') } as const;
