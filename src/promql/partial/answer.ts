import type { Trailer } from './partial.pb.ts';

export type { Header as PartialHeader } from './partial.pb.ts';

/** The cost of the work on the agent. */
export type PartialStats = Pick<Trailer, 'waitMs' | 'evaluateMs'>;
