import type { Trailer } from './partial.pb.ts';

export type { Header as PartialHeader } from './partial.pb.ts';

/** The time that an agent's share of a query took: waiting and evaluating. */
export type PartialStats = Pick<Trailer, 'waitMs' | 'evaluateMs'>;
