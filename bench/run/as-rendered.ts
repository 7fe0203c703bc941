import { nodeMemory } from '../../src/render/node-memory.ts';

/** The environment that images and manifests set for our processes; as-rendered.test.ts compares it with both. */

/** Set by every image. */
export const imageEnvironment = { NODE_ENV: 'production' } as const;

/** Set by the images and manifests of agents, query servers and minters. */
export const agentEnvironment = { ...imageEnvironment, ...nodeMemory('agent') } as const;
export const queryEnvironment = { ...imageEnvironment, ...nodeMemory('query') } as const;
export const minterEnvironment = { ...imageEnvironment, ...nodeMemory('minter') } as const;
