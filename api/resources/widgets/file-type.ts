import { isUtf8 } from 'node:buffer';
import { imageTypeOf } from '../../http/image-type.ts';

/** Types that a browser shows in place: it runs nothing in them. SVG and HTML can contain scripts. */
const SHOWN = /^(image|video|audio)\//;

/** The type of a file by its bytes; undefined for files that widgets do not show. */
export function widgetFileTypeOf(bytes: Buffer): string | undefined {
  const image = imageTypeOf(bytes);
  if (image) return image;
  const known = signatures.find(({ offset, text }) => begins(bytes, offset, text));
  if (known) return known.type;
  return isText(bytes) && !isMarkup(bytes) ? 'text/plain' : undefined;
}

export function isShownInPlace(fileType: string): boolean {
  return SHOWN.test(fileType);
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

/** UTF-8 without control characters but white space. */
function isText(bytes: Buffer): boolean {
  const isControl = (byte: number) => byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d);
  return isUtf8(bytes) && !bytes.some(isControl);
}

/** HTML, SVG and XML, which other programs may open as such. */
function isMarkup(bytes: Buffer): boolean {
  return /<\s*(!doctype|html|head|body|script|svg|iframe|\?xml|img|a\s)/i.test(bytes.toString());
}
