import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { type ReadableFile, ReadFailure } from '../protocol.ts';
import { readCsvText } from './csv-text.ts';

/** Characters that the parser gets at a time. */
const PIECE = 64 * 1024;
const MAX_ROW = 1024 * 1024;

/** Yields the rows of a CSV file, each cell as text. Leaving the loop ends the parsing. */
export async function* csvRows({ path, fileType }: ReadableFile): AsyncGenerator<string[]> {
  const { delimiter, decode } = readCsvText(await readFile(path), fileType);
  const parser = parse({
    delimiter,
    relax_column_count: true,
    relax_quotes: true,
    max_record_size: MAX_ROW,
  });
  Readable.from(piecesOf(decode())).pipe(parser);
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
