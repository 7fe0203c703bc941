import snappy from 'snappyjs';
import type { FloatHistogram, Labels } from '../../src/promql/index.ts';
import type { LoadedSample } from '../../src/testing/promql/memory-source.ts';

/** Writes one protobuf message, field by field. */
class Message {
  readonly #bytes: number[] = [];

  bytes(field: number, value: Uint8Array): this {
    this.#varint(field * 8 + 2).#varint(value.length);
    for (const byte of value) this.#bytes.push(byte);
    return this;
  }

  double(field: number, value: number): this {
    this.#varint(field * 8 + 1);
    this.#bytes.push(...new Uint8Array(new Float64Array([value]).buffer));
    return this;
  }

  /** Adds a field of packed doubles. */
  doubles(field: number, values: readonly number[]): this {
    return values.length === 0 ? this : this.bytes(field, new Uint8Array(new Float64Array(values).buffer));
  }

  number(field: number, value: number): this {
    return this.#varint(field * 8)!.#varint(value);
  }

  signed(field: number, value: number): this {
    return this.number(field, value < 0 ? -2 * value - 1 : 2 * value);
  }

  text(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  /** Adds the tag and size of an inner message. The caller appends the bytes of that message. */
  prefix(field: number, size: number): this {
    return this.#varint(field * 8 + 2).#varint(size);
  }

  take(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }

  #varint(value: number): this {
    let left = value;
    for (; left >= 128; left = Math.floor(left / 128)) this.#bytes.push((left % 128) + 128);
    this.#bytes.push(left);
    return this;
  }
}

function spans(message: Message, field: number, indexes: readonly number[]): void {
  let end = 0;
  for (let i = 0; i < indexes.length;) {
    let length = 1;
    while (i + length < indexes.length && indexes[i + length] === indexes[i]! + length) length++;
    message.bytes(
      field,
      new Message()
        .signed(1, indexes[i]! - end)
        .number(2, length)
        .take(),
    );
    end = indexes[i]! + length;
    i += length;
  }
}

function histogramMessage(histogram: FloatHistogram, time: number): Uint8Array {
  const { count, sum, schema, zeroThreshold, zeroCount, positive, negative } = histogram;
  const message = new Message().double(2, count).double(3, sum).signed(4, schema);
  message.double(5, zeroThreshold).double(7, zeroCount);
  spans(message, 8, negative.indexes);
  message.doubles(10, negative.counts);
  spans(message, 11, positive.indexes);
  message.doubles(13, positive.counts);
  return message.number(15, time).take();
}

/** Sends the compressed body of one request. Errors: the status and body of any answer but success. */
export async function postWrite(url: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const response = await fetch(`${url}/api/v1/write`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-protobuf',
      'content-encoding': 'snappy',
      'x-prometheus-remote-write-version': '0.1.0',
    },
    body,
    signal: AbortSignal.timeout(60_000),
  });
  if (!response.ok) throw new Error(`remote write: ${response.status} ${await response.text()}`);
}

/** Sends samples to a peer by remote write 1, floats and native histograms (with float counts), oldest first. */
export async function remoteWrite(
  url: string,
  series: readonly { readonly labels: Labels; readonly samples: readonly LoadedSample[] }[],
): Promise<void> {
  const byTime = new Map<number, Message>();
  for (const { labels, samples } of series) {
    for (const { time, value, histogram } of samples) {
      const one = new Message();
      for (const [name, text] of labels) one.bytes(1, new Message().text(1, name).text(2, text).take());
      if (histogram === undefined) one.bytes(2, new Message().double(1, value).number(2, time).take());
      else one.bytes(4, histogramMessage(histogram, time));
      let request = byTime.get(time);
      if (request === undefined) byTime.set(time, (request = new Message()));
      request.bytes(1, one.take());
    }
  }
  for (const time of [...byTime.keys()].sort((a, b) => a - b)) {
    await postWrite(url, snappy.compress(byTime.get(time)!.take()) as Uint8Array<ArrayBuffer>);
  }
}

/**
 * Sends whole series of floats, all of one length, many in one request. The peer must accept old samples of a series
 * after newer samples of another series: the time range of its head must be at least that of the data.
 */
export async function remoteWriteColumns(
  url: string,
  series: readonly { readonly labels: Labels; readonly values: Float64Array }[],
  time: (i: number) => number,
): Promise<void> {
  for (let from = 0; from < series.length; from += 50) {
    const parts: Buffer[] = [];
    for (const { labels, values } of series.slice(from, from + 50)) {
      const named = new Message();
      for (const [name, text] of labels) named.bytes(1, new Message().text(1, name).text(2, text).take());
      // A sample is a field of 18 bytes here: a double and a time that fills six bytes as a varint.
      const samples = Buffer.alloc(values.length * 18);
      values.forEach((value, i) => putSample(samples, i * 18, value, time(i)));
      const head = Buffer.from(named.take());
      parts.push(Buffer.from(new Message().prefix(1, head.length + samples.length).take()), head, samples);
    }
    await postWrite(url, snappy.compress(new Uint8Array(Buffer.concat(parts))) as Uint8Array<ArrayBuffer>);
  }
}

function putSample(out: Buffer, at: number, value: number, time: number): void {
  out[at] = (2 << 3) | 2;
  out[at + 1] = 16;
  out[at + 2] = (1 << 3) | 1;
  out.writeDoubleLE(value, at + 3);
  out[at + 11] = 2 << 3;
  let left = time;
  for (let i = 0; i < 6; i++) {
    out[at + 12 + i] = (left % 128) + (i < 5 ? 128 : 0);
    left = Math.floor(left / 128);
  }
}
