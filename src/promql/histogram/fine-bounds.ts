/**
 * How far Prometheus' bound of each of the 256 finest exponential buckets between ½ and 1 lies below
 * `2 ** (i / 256) / 2`, in units of the last place, plus one. Its bounds come from a table that was once computed with
 * less than full precision; they show in answers and in the text of histograms, so that they have to be the same.
 */
const shifts = [
  '1111112111211111112311222222222211211121122211221122102211221122',
  '1111112222332132112111211112111111121011213311221222112121332222',
  '2121223322322122222222323233323311221121223321332233212232332232',
  '2243223233433343333333444455435422322333324422333243223333543344',
].join('');

/** Upper bounds of the buckets of schema 8 from ½ to below 1; coarser schemas use every 2nd, 4th, … of them. */
export const fineBounds: Float64Array = Float64Array.from({ length: 256 }, (_, i) => 2 ** (i / 256) / 2);

const words = new BigInt64Array(fineBounds.buffer);
for (let i = 0; i < 256; i++) words[i]! += BigInt(1 - Number(shifts[i]));
