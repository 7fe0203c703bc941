import type { Complete } from '../command.ts';
import { askApi } from '../connect/prometheus.ts';

/** The largest number of names that are offered. */
const maxNames = 500;

/** Metric names that complete an expression which is only a name so far. */
export const metricNames: Complete = async (session, word) => {
  if (!/^[A-Za-z_:][\w:]*$/.test(word)) return [];
  const params = { 'match[]': `{__name__=~"${word}.*"}`, limit: String(maxNames) };
  const { data } = await askApi<string[]>(await session.connect(), '/api/v1/label/__name__/values', params, {
    method: 'GET',
    signal: session.signal,
  });
  return data;
};
