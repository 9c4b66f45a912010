import { type FileType, fileTypes } from '#shared/file-types.ts';

/**
 * What a file is by its bytes, or undefined for anything that no datasource reads. Only between texts does the name decide:
 * whether values are separated by tabs cannot be seen from all of them.
 */
export function fileTypeOf(bytes: Buffer, fileName: string): FileType | undefined {
  if (begins(bytes, 'SQLite format 3\0')) return fileTypes.sqlite;
  if (begins(bytes, 'PAR1') && bytes.subarray(-4).equals(Buffer.from('PAR1'))) return fileTypes.parquet;
  // The names of a zip's parts are in it as they are.
  if (begins(bytes, 'PK\x03\x04')) return bytes.includes('xl/workbook.xml') ? fileTypes.xlsx : undefined;
  if (!isText(bytes)) return undefined;
  if (isJSON(bytes)) return fileTypes.json;
  return /\.(tsv|tab)$/i.test(fileName) ? fileTypes.tsv : fileTypes.csv;
}

function begins(bytes: Buffer, text: string): boolean {
  return bytes.subarray(0, text.length).equals(Buffer.from(text, 'latin1'));
}

/** UTF-16 has zeros and says so at its beginning; any other text has none, and no control characters but these few. */
function isText(bytes: Buffer): boolean {
  if (begins(bytes, '\xff\xfe') || begins(bytes, '\xfe\xff')) return bytes.length % 2 === 0;
  return !bytes.subarray(0, 64 * 1024).some((byte) => byte < 0x20 && !WHITE.has(byte)) && !bytes.includes(0);
}

const WHITE = new Set([0x09, 0x0a, 0x0c, 0x0d]);

/** One document, or one to a line. */
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
