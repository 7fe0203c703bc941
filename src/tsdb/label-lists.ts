import { isOperatorError } from '../base/errors.ts';
import { sortInTurns } from '../base/turns/sort-in-turns.ts';
import { Pace, turns } from '../base/turns/turns.ts';
import type { BlockSet } from './block-set.ts';
import type { Block } from './block/reader.ts';
import type { Head } from './head/head.ts';
import { compareLabels, compareUtf8, labelsKey } from './labels.ts';
import type { Labels } from './labels.ts';
import { compileSets } from './matcher.ts';
import type { CompiledMatcher } from './matcher.ts';
import { rememberMatches, selectPostings } from './postings.ts';
import { blocksIn, indexesOf, selectSeries } from './select.ts';
import type { ListOptions, MatcherSets } from './types.ts';

/**
 * The indexes from which series, or names or values of labels, are listed. Matchers and the time range select the
 * series. While a list is made, ranges of the head become blocks, and blocks are merged and removed. So that it misses
 * no series, a list takes the blocks in the same turn of the event loop as the head, or after it.
 */
export interface Listed {
  readonly blockSet: Pick<BlockSet, 'blocks'>;
  readonly head: Head;
  readonly matcherSets: MatcherSets;
  readonly mint: number;
  readonly maxt: number;
  /** Called for a block that turns out to be damaged. */
  readonly onBad: (block: Block, error: unknown) => void;
}

/** Other work gets a turn after this many series of a block. */
const seriesPerTurn = 2_048;
/** Listing a series costs as much as reading `seriesWork` samples; comparing two series, as `compareWork` samples. */
const seriesWork = 100;
const compareWork = 20;
/** Memory of a listed series, of each of its labels and of a listed text, without their characters. Bytes. */
const seriesBytes = 48;
const labelBytes = 64;
const textBytes = 48;

/** The label sets of the matching series, sorted. A series that several selectors match is listed once. */
export async function listSeries(
  listed: Listed,
  { limit = Infinity, signal, hold }: ListOptions = {},
): Promise<Labels[]> {
  const { blockSet, head, mint, maxt, onBad } = listed;
  const sets = compiled(listed.matcherSets);
  const pace = new Pace(signal);
  const found = new Map<string, Labels>();
  for (const matchers of sets) {
    await rememberMatches(matchers, indexesOf({ blocks: blockSet.blocks, head, mint, maxt }), pace);
    const list: Labels[] = [];
    for (const series of selectSeries({ blocks: blockSet.blocks, head, matchers, mint, maxt, onBad })) {
      if (list.length >= limit) break;
      if (pace.spend(seriesWork)) await pace.turn();
      if (series.hasSamples()) {
        hold?.(seriesBytes + labelBytes * series.labels.length);
        list.push(series.labels);
      }
    }
    if (sets.length === 1) return list;
    for (const labels of list) {
      found.set(labelsKey(labels), labels);
      if (pace.spend(seriesWork)) await pace.turn();
    }
  }
  const all = await sortInTurns(pace, [...found.values()], compareLabels, compareWork);
  return all.length > limit ? all.slice(0, limit) : all;
}

/** The names of the series' labels, or the values of label `name`; sorted. */
export async function listTexts(
  { blockSet, head, matcherSets, mint, maxt, onBad }: Listed,
  name: string | undefined,
  { limit = Infinity, signal, hold }: ListOptions = {},
): Promise<string[]> {
  const texts = new Set<string>();
  const charge = chargeOf(texts, hold);
  const pace = new Pace(signal);
  const sets = compiled(matcherSets);
  for (const matchers of sets) {
    await rememberMatches(matchers, indexesOf({ blocks: blockSet.blocks, head, mint, maxt }), pace);
    head.collect(matchers, mint, maxt, name, texts);
    charge();
    await turn(signal);
  }
  const used = blocksIn({ blocks: blockSet.blocks, mint, maxt });
  for (const block of used) block.acquire();
  try {
    for (const block of used) {
      for (const matchers of sets) {
        for (const _ of collectBlock(block, matchers, mint, maxt, name, texts, onBad)) {
          charge();
          await turn(signal);
        }
        charge();
        await turn(signal);
      }
    }
  } finally {
    for (const block of used) block.release();
  }
  const all = await sortInTurns(pace, [...texts], compareUtf8, compareWork);
  return all.length > limit ? all.slice(0, limit) : all;
}

/** Adds the names or values in one block to `texts`. Yields where other work may get a turn. */
function* collectBlock(
  block: Block,
  matchers: readonly CompiledMatcher[],
  mint: number,
  maxt: number,
  name: string | undefined,
  texts: Set<string>,
  onBad: Listed['onBad'],
): Generator<void> {
  const { index, tombstones } = block;
  const isInside = block.from >= mint && block.to - 1 <= maxt;
  try {
    if (isInside && matchers.length === 0 && tombstones.size === 0) {
      for (const text of name === undefined ? index.names() : index.values(name)) texts.add(text);
      return;
    }
    const ordinals = selectPostings(index, matchers);
    for (let i = 0; i < ordinals.length; i++) {
      if (i % seriesPerTurn === seriesPerTurn - 1) yield;
      const ordinal = ordinals[i]!;
      if (!isInside || tombstones.has(ordinal)) {
        const overlapping = index.series(ordinal).chunks.filter((chunk) => chunk.minT <= maxt && chunk.maxT >= mint);
        if (overlapping.length === 0 || !block.hasSamples(ordinal, overlapping, mint, maxt)) continue;
      }
      index.collect(ordinal, name, texts);
    }
  } catch (error) {
    if (isOperatorError(error, 'ERR_STORE_CORRUPT')) onBad(block, error);
    throw error;
  }
}

/** Returns a function that reports to `hold` the memory of the texts that were added since its last call. */
function chargeOf(texts: ReadonlySet<string>, hold: ListOptions['hold']): () => void {
  const seen = texts.values();
  let charged = 0;
  return () => {
    if (hold === undefined) return;
    let bytes = 0;
    for (; charged < texts.size; charged++) bytes += textBytes + seen.next().value!.length;
    if (bytes > 0) hold(bytes);
  };
}

function compiled(sets: MatcherSets): CompiledMatcher[][] {
  return sets.length === 0 ? [[]] : compileSets(sets);
}

async function turn(signal: AbortSignal | undefined): Promise<void> {
  await turns.next();
  signal?.throwIfAborted();
}
