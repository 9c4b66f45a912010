import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { fileTypes } from '#shared/datasources/files/types.ts';
import { type ReadableFile, ReadFailure } from '../protocol.ts';

/** Characters that the parser gets at a time, and from which the delimiter is guessed. */
const PIECE = 64 * 1024;
const MAX_ROW = 1024 * 1024;

/** Yields the rows of a CSV file, each cell as text. Leaving the loop ends the parsing. */
export async function* csvRows({ path, fileType }: ReadableFile): AsyncGenerator<string[]> {
  const text = decode(await readFile(path));
  const parser = parse({
    delimiter: fileType === fileTypes.tsv ? '\t' : delimiterOf(text),
    relax_column_count: true,
    relax_quotes: true,
    max_record_size: MAX_ROW,
  });
  Readable.from(piecesOf(text)).pipe(parser);
  try {
    for await (const row of parser) yield row as string[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error.lines === 'number' ? error.lines : null;
    throw new ReadFailure(`The file is not CSV: ${error.message}`, { line });
  }
}

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += PIECE) yield text.slice(at, at + PIECE);
}

/** Bytes that are not UTF-8 and have no UTF-16 mark are read as Windows-1252, in which every byte is a character. */
function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  return new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252').decode(bytes);
}

/** Finds the mark that occurs most evenly in the first rows, outside of quotes. */
function delimiterOf(text: string): string {
  const head = text.slice(0, PIECE).replaceAll(/"(?:[^"]|"")*"/g, '');
  const lines = head.split(/\r\n|\n|\r/, 20).filter((line) => line !== '');
  const scored = [',', ';', '\t', '|'].map((mark) => {
    const counts = lines.map((line) => line.split(mark).length - 1);
    const first = counts[0] ?? 0;
    return { mark, even: first > 0 ? counts.filter((count) => count === first).length : 0, first };
  });
  scored.sort((a, b) => b.even - a.even || b.first - a.first);
  return scored[0]?.even ? scored[0].mark : ',';
}
