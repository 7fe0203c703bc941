import { readFrames } from '../../base/wire/frames.ts';
import { PartialDecoder } from '../partial/decode.ts';
import { encodePartial } from '../partial/encode.ts';
import { decodePartialRequest, encodePartialRequest, engineVersion } from '../partial/request.ts';
import { evaluateFragment } from '../plan/evaluate-fragment.ts';
import type { Distribution, FragmentRequest, FragmentResult, FragmentSettings, Steps } from '../plan/fragment.ts';
import type { SeriesSource } from '../types.ts';
import { nodeLabel } from './made-up-series.ts';

const limits = { maxSeries: 10_000, maxBytes: 1e7, maxSamples: 1e6, deadlineMs: 60_000 };

/**
 * A stand-in for the agent of a node, in this process: its requests and answers are encoded and decoded as those of an
 * agent on the network.
 */
export class OwnNode implements Distribution {
  readonly partitionLabel = nodeLabel;
  readonly #source: SeriesSource;

  constructor(source: SeriesSource) {
    this.#source = source;
  }

  async run(fragment: FragmentRequest, steps: Steps, settings: FragmentSettings): Promise<readonly FragmentResult[]> {
    const asked = decodePartialRequest(encodePartialRequest({ fragment, steps, settings, ...limits }));
    const options = { settings: asked.settings, maxSamples: asked.maxSamples };
    const answer = await evaluateFragment(asked.fragment, this.#source, asked.steps, options);
    const header = {
      planHash: asked.planHash,
      node: 'node',
      labelsOwned: [nodeLabel],
      minT: null,
      maxT: null,
      partitionClean: true,
      engineVersion,
    };
    const { maxSeries } = limits;
    const nothing = (): void => {};
    const decoder = new PartialDecoder({
      fragment,
      steps: steps.count,
      maxSeries,
      onHeader: nothing,
      onColumn: nothing,
    });
    const frames = encodePartial(header, answer, { waitMs: 0, evaluateMs: 0 });
    for await (const message of readFrames(piecewise(frames), 'warm-up')) decoder.add(message);
    return [decoder.finish().result];
  }
}

async function* piecewise(frames: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* frames;
}
