import { postOne } from './post.ts';
import { expectSeries, type Receiver } from './process.ts';
import { httpBodies, seriesPerPod, type Timeline } from './workload.ts';

export interface Pace {
  readonly pods: number;
  /** Number of samples that are posted per second. */
  readonly perSecond: number;
  readonly seconds: number;
  readonly time: Timeline;
  /** The first interval to post. */
  readonly round: number;
}

/**
 * Posts pod by pod at a pace. Returns the receiver's CPU time in per cent of the time that the pace plans for the
 * posts. Delays of a busy machine do not lengthen the planned time.
 */
export async function pace(receiver: Receiver, work: Pace): Promise<number> {
  const { pods, perSecond, seconds, time, round } = work;
  const gapMs = (seriesPerPod / perSecond) * 1_000;
  const posts = Math.round((seconds * 1_000) / gapMs);
  const before = receiver.cpuMs();
  const began = performance.now();
  let bodies: Uint8Array[] = [];
  for (let i = 0; i < posts; i++) {
    if (i % pods === 0) bodies = httpBodies(pods, time, round + i / pods);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + i * gapMs - performance.now())));
    await postOne(receiver, bodies[i % pods]!);
  }
  const share = (100 * (receiver.cpuMs() - before)) / (posts * gapMs);
  await expectSeries(receiver, pods * seriesPerPod);
  return share;
}
