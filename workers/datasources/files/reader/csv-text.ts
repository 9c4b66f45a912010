import { isUtf8 } from 'node:buffer';
import { markOf } from '#shared/core/charset.ts';
import { fileTypes } from '#shared/datasources/files/types.ts';

/** Bytes from which the delimiter is guessed. */
const HEAD_BYTES = 64 * 1024;

interface CsvText {
  isUTF8: boolean;
  delimiter: string;
  /** Decodes the whole file. */
  decode(): string;
}

/** Finds the encoding and the delimiter of a CSV file, for all that read one. */
export function readCsvText(bytes: Buffer, fileType: string): CsvText {
  const encoding = encodingOf(bytes);
  // A character that is cut at the end is no delimiter.
  const head = new TextDecoder(encoding).decode(bytes.subarray(0, HEAD_BYTES));
  return {
    isUTF8: encoding === 'utf-8',
    delimiter: delimiterOf(head, fileType),
    decode: () => new TextDecoder(encoding).decode(bytes),
  };
}

/** Bytes that are not UTF-8 and have no UTF-16 mark are read as Windows-1252, in which every byte is a character. */
function encodingOf(bytes: Buffer): string {
  const mark = markOf(bytes);
  if (mark === 'utf-16le' || mark === 'utf-16be') return mark;
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}

/** The delimiter of a file of this type: for CSV the mark that occurs most evenly in the first rows, outside of quotes. */
function delimiterOf(text: string, fileType: string): string {
  if (fileType === fileTypes.tsv) return '\t';
  const lines = text
    .replaceAll(/"(?:[^"]|"")*"/g, '')
    .split(/\r\n|\n|\r/, 20)
    .filter((line) => line !== '');
  const scored = [',', ';', '\t', '|'].map((mark) => {
    const counts = lines.map((line) => line.split(mark).length - 1);
    const first = counts[0] ?? 0;
    return { mark, even: first > 0 ? counts.filter((count) => count === first).length : 0, first };
  });
  scored.sort((a, b) => b.even - a.even || b.first - a.first);
  return scored[0]?.even ? scored[0].mark : ',';
}
