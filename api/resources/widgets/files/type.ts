import { isUtf8 } from 'node:buffer';
import { cooperative } from '#shared/concurrency/cooperative.ts';
import { imageTypeOf } from '../../../assets/image-type.ts';

/** The type of a file by its bytes; undefined for files that widgets do not show. */
export async function widgetFileTypeOf(bytes: Buffer): Promise<string | undefined> {
  const image = imageTypeOf(bytes);
  if (image) return image;
  const known = signatures.find(({ offset, text }) => begins(bytes, offset, text));
  if (known) return known.type;
  return isUtf8(bytes) && (await isPlain(bytes)) ? 'text/plain' : undefined;
}

const signatures = [
  { type: 'application/pdf', offset: 0, text: '%PDF-' },
  { type: 'video/mp4', offset: 4, text: 'ftyp' },
  { type: 'video/webm', offset: 0, text: '\x1a\x45\xdf\xa3' },
  { type: 'audio/ogg', offset: 0, text: 'OggS' },
  { type: 'audio/mpeg', offset: 0, text: 'ID3' },
  { type: 'application/zip', offset: 0, text: 'PK\x03\x04' },
] as const;

function begins(bytes: Buffer, offset: number, text: string): boolean {
  return bytes.subarray(offset, offset + text.length).equals(Buffer.from(text, 'latin1'));
}

/** Control characters, but for white space. */
const CONTROL = /[^\t-\r -\xff]/;
/** HTML, SVG and XML, which other programs may open as such. */
const MARKUP = /<\s{0,99}(!doctype|html|head|body|script|svg|iframe|\?xml|img|a\s)/i;
const PIECE = 256 * 1024;
/** A match of `MARKUP` is shorter, so one that begins in a piece is found with it. */
const OVERLAP = 128;

/**
 * Whether a text has neither control characters nor markup. It is checked piece by piece, because ten megabytes would hold the event loop
 * for half a second; as Latin-1, because all that is searched for is ASCII.
 */
async function isPlain(bytes: Buffer): Promise<boolean> {
  const begins = Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, piece) => piece * PIECE);
  for await (const begin of cooperative(begins)) {
    const text = bytes.toString('latin1', begin, begin + PIECE + OVERLAP);
    if (CONTROL.test(text) || MARKUP.test(text)) return false;
  }
  return true;
}
