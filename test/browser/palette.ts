/**
 * Converts screenshots to a palette, which takes less than half of the bytes, for pictures in the
 * repository. Sections refer to PNG (W3C Recommendation, third edition). It reads only the PNG that
 * Chromium writes: 8 bits per channel, not interlaced.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLOURS = 256;
/** Types of colour (§11.2.1): a palette, or red, green, blue and alpha. All others lack alpha. */
const TYPE = { palette: 3, rgba: 6 } as const;

interface Picture {
  readonly width: number;
  readonly height: number;
  /** One number a pixel: red, green and blue. */
  readonly pixels: Uint32Array;
}

/** Returns the data of all chunks of a type, concatenated (§5.3). */
function chunksOf(png: Buffer, type: string): Buffer {
  const found: Buffer[] = [];
  let at = SIGNATURE.length;
  while (at < png.length) {
    const end = at + 8 + png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === type) found.push(png.subarray(at + 8, end));
    at = end + 4;
  }
  return Buffer.concat(found);
}

/** The last filter (§9.4): the one of the three that is nearest to left + up - diagonal. */
function paeth(left: number, up: number, diagonal: number): number {
  const guess = left + up - diagonal;
  const toLeft = Math.abs(guess - left);
  const toUp = Math.abs(guess - up);
  const toDiagonal = Math.abs(guess - diagonal);
  if (toLeft <= toUp && toLeft <= toDiagonal) return left;
  return toUp <= toDiagonal ? up : diagonal;
}

/** Returns the prediction for a byte by the filter of its row (§9.2). */
function predict(filter: number, left: number, up: number, diagonal: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  return filter === 4 ? paeth(left, up, diagonal) : 0;
}

/** Undoes the filters. */
function readRows(png: Buffer, stride: number, channels: number): Buffer {
  const filtered = inflateSync(chunksOf(png, 'IDAT'));
  const rows = Buffer.alloc((filtered.length / (stride + 1)) * stride);
  for (let at = 0; at < rows.length; at += 1) {
    const row = Math.floor(at / stride);
    const isFirst = at % stride < channels;
    const left = isFirst ? 0 : (rows[at - channels] ?? 0);
    const up = rows[at - stride] ?? 0;
    const diagonal = isFirst ? 0 : (rows[at - stride - channels] ?? 0);
    const filter = filtered[row * (stride + 1)] ?? 0;
    rows[at] = (filtered[at + row + 1] ?? 0) + predict(filter, left, up, diagonal);
  }
  return rows;
}

function read(png: Buffer): Picture {
  const header = chunksOf(png, 'IHDR');
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const channels = header[9] === TYPE.rgba ? 4 : 3;
  const rows = readRows(png, width * channels, channels);
  const pixels = new Uint32Array(width * height);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = rows.readUIntBE(at * channels, 3);
  return { width, height, pixels };
}

function distance(one: number, other: number): number {
  const red = (one >> 16) - (other >> 16);
  const green = ((one >> 8) & 255) - ((other >> 8) & 255);
  const blue = (one & 255) - (other & 255);
  return red ** 2 + green ** 2 + blue ** 2;
}

/** Returns the most common colours. All others are shades at the edges of letters. */
function paletteOf(pixels: Uint32Array): readonly number[] {
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const byCount = [...counts].sort(([, one], [, other]) => other - one);
  return byCount.slice(0, MOST_COLOURS).map(([colour]) => colour);
}

/** Finds the index of the nearest colour in a palette. Computes it once for each colour. */
function nearestIn(palette: readonly number[]): (colour: number) => number {
  const places = new Map(palette.map((colour, place) => [colour, place]));
  return (colour) => {
    const known = places.get(colour);
    if (known !== undefined) return known;
    const distances = palette.map((other) => distance(colour, other));
    const place = distances.indexOf(Math.min(...distances));
    places.set(colour, place);
    return place;
  };
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Returns the same picture in at most 256 colours. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = read(png);
  const palette = paletteOf(pixels);
  const placeOf = nearestIn(palette);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt16BE((8 << 8) | TYPE.palette, 8);
  const colours = Buffer.alloc(palette.length * 3);
  for (const [place, colour] of palette.entries()) colours.writeUIntBE(colour, place * 3, 3);
  // Each row begins with its filter: none.
  const rows = Buffer.alloc((width + 1) * height);
  for (const [at, colour] of pixels.entries())
    rows[at + Math.floor(at / width) + 1] = placeOf(colour);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
