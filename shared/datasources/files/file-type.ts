import { markOf } from '../../core/charset.ts';
import { type FileType, fileTypes } from './types.ts';

/**
 * Finds the type of a file by its bytes; undefined for a type that no datasource reads. The name decides only between text
 * formats: not every tab-separated file shows its separator.
 */
export function fileTypeOf(bytes: Buffer, fileName: string): FileType | undefined {
  if (begins(bytes, 'SQLite format 3\0')) return fileTypes.sqlite;
  if (begins(bytes, 'PAR1') && bytes.subarray(-4).equals(Buffer.from('PAR1'))) return fileTypes.parquet;
  // A zip contains the names of its entries uncompressed.
  if (begins(bytes, 'PK\x03\x04')) return bytes.includes('xl/workbook.xml') ? fileTypes.xlsx : undefined;
  if (!isText(bytes)) return undefined;
  if (isJSON(bytes)) return fileTypes.json;
  return /\.(tsv|tab)$/i.test(fileName) ? fileTypes.tsv : fileTypes.csv;
}

function begins(bytes: Buffer, text: string): boolean {
  return bytes.subarray(0, text.length).equals(Buffer.from(text, 'latin1'));
}

/** UTF-16 has NUL bytes and begins with a byte order mark; other text has no control characters but these. */
function isText(bytes: Buffer): boolean {
  const mark = markOf(bytes);
  if (mark === 'utf-16le' || mark === 'utf-16be') return bytes.length % 2 === 0;
  return !bytes.subarray(0, 64 * 1024).some((byte) => byte < 0x20 && !WHITE.has(byte)) && !bytes.includes(0);
}

const WHITE = new Set([0x09, 0x0a, 0x0c, 0x0d]);

/** Whether the text is one JSON document, or has one on each line. */
function isJSON(bytes: Buffer): boolean {
  const text = bytes
    .toString()
    .replace(/^\uFEFF/, '')
    .trimStart();
  if (!/^[[{]/.test(text)) return false;
  const [line = ''] = text.split('\n', 1);
  return parses(line) || parses(text);
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
