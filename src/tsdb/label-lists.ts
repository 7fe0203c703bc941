import { setImmediate as nextTurn } from 'node:timers/promises';
import { isOperatorError } from '../base/errors.ts';
import type { Block } from './block/reader.ts';
import type { Head } from './head/head.ts';
import { compareLabels, compareUtf8, labelsKey } from './labels.ts';
import type { Labels } from './labels.ts';
import { compileMatchers } from './matcher.ts';
import type { CompiledMatcher } from './matcher.ts';
import { selectPostings } from './postings.ts';
import { selectSeries } from './select.ts';
import type { ListOptions, MatcherSets } from './types.ts';

/** What is looked through. */
export interface Listed {
  readonly blocks: readonly Block[];
  readonly head: Head;
  readonly matcherSets: MatcherSets;
  readonly mint: number;
  readonly maxt: number;
  /** Told of a block that turned out to be damaged. */
  readonly onBad: (block: Block, error: unknown) => void;
}

/** Other work gets a turn after so many series. */
const seriesPerTurn = 2_048;

/** The label sets, first ones first. Several selectors may name the same series. */
export async function listSeries(listed: Listed, { limit = Infinity, signal }: ListOptions = {}): Promise<Labels[]> {
  const { blocks, head, mint, maxt, onBad } = listed;
  const sets = compiled(listed.matcherSets);
  const lists: Labels[][] = [];
  let work = 0;
  for (const matchers of sets) {
    const list: Labels[] = [];
    lists.push(list);
    for (const series of selectSeries({ blocks, head, matchers, mint, maxt, onBad })) {
      if (++work % seriesPerTurn === 0) await turn(signal);
      if (series.hasSamples()) list.push(series.labels);
      if (list.length >= limit) break;
    }
  }
  if (lists.length === 1) return lists[0]!;
  const found = new Map(lists.flat().map((labels) => [labelsKey(labels), labels]));
  const all = [...found.values()].sort(compareLabels);
  return all.length > limit ? all.slice(0, limit) : all;
}

/** The names of the series' labels, or with `name` the values of that label; first ones first. */
export async function listTexts(
  { blocks, head, matcherSets, mint, maxt, onBad }: Listed,
  name: string | undefined,
  { limit = Infinity, signal }: ListOptions = {},
): Promise<string[]> {
  const texts = new Set<string>();
  const sets = compiled(matcherSets);
  const used = blocks.filter((block) => block.from <= maxt && block.to > mint);
  for (const block of used) block.acquire();
  try {
    for (const matchers of sets) head.collect(matchers, mint, maxt, name, texts);
    for (const block of used) {
      for (const matchers of sets) {
        for (const _ of collectBlock(block, matchers, mint, maxt, name, texts, onBad)) await turn(signal);
      }
    }
  } finally {
    for (const block of used) block.release();
  }
  const all = [...texts].sort(compareUtf8);
  return all.length > limit ? all.slice(0, limit) : all;
}

/** Yields where other work may get a turn. */
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

function compiled(sets: MatcherSets): CompiledMatcher[][] {
  return sets.length === 0 ? [[]] : sets.map(compileMatchers);
}

async function turn(signal: AbortSignal | undefined): Promise<void> {
  await nextTurn();
  signal?.throwIfAborted();
}
