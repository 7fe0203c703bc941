import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { Labels } from '../labels.ts';

/** In a label with fewer bytes of text than this, every length field takes one byte. */
const shortBytes = 120;
let scratch = new Uint8Array(4096);

/** The labels of a series as prometheus.Label messages of field 1. */
export function encodeLabels(labels: Labels): Uint8Array {
  return lendLabels(labels).slice();
}

/**
 * Like `encodeLabels`, but in shared memory that the next call overwrites. The caller encodes the labels of a series
 * once for all frames with its samples. Nearly all labels are short ASCII and are written in place, because encoding
 * labels is most of the work of a scan of many series.
 */
export function lendLabels(labels: Labels): Uint8Array {
  let at = 0;
  for (const [name, value] of labels) {
    if (at + shortBytes + 8 > scratch.length) scratch = grown(at);
    const end = name.length + value.length < shortBytes ? putShort(at, name, value) : -1;
    if (end >= 0) {
      at = end;
      continue;
    }
    const long = new WireWriter(256).message(1, (label) => void label.string(1, name).string(2, value)).finish();
    if (at + long.length > scratch.length) scratch = grown(at + long.length);
    scratch.set(long, at);
    at += long.length;
  }
  return scratch.subarray(0, at);
}

/** Returns where the label ends, or −1 when it is not ASCII. */
function putShort(start: number, name: string, value: string): number {
  const out = scratch;
  let at = start;
  let seen = 0;
  out[at++] = 0x0a;
  out[at++] = name.length + value.length + 4;
  out[at++] = 0x0a;
  out[at++] = name.length;
  for (let i = 0; i < name.length; i++) {
    const unit = name.charCodeAt(i);
    seen |= unit;
    out[at++] = unit;
  }
  out[at++] = 0x12;
  out[at++] = value.length;
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i);
    seen |= unit;
    out[at++] = unit;
  }
  return seen < 128 ? at : -1;
}

function grown(needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(needed * 2 + 4096);
  larger.set(scratch);
  return larger;
}
