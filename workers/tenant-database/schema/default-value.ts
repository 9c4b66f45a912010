import { isDeepStrictEqual } from 'node:util';
import type { Json } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { writeArray } from '../../connections/postgresql/values.ts';
import { quoteLiteral } from '../quote.ts';

const FUNCTIONS = new Set([
  'now()',
  'clock_timestamp()',
  'statement_timestamp()',
  'transaction_timestamp()',
  'gen_random_uuid()',
  'uuidv4()',
  'uuidv7()',
  'random()',
  'current_timestamp',
  'current_date',
  'current_time',
  'localtimestamp',
  'localtime',
  'current_user',
  'session_user',
]);

/**
 * Writes the SQL after DEFAULT: a value that the server parses as the column's type, or one of a few harmless functions. Any
 * other expression would put SQL of the client into our statement.
 */
export function defaultOf(value: Json, field: string): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return quoteLiteral(writeArray(value, { delimiter: ',', isOfJson: false, write: asText }));
  if (typeof value === 'object') return quoteLiteral(JSON.stringify(value));
  if (typeof value !== 'string') return String(value);
  const text = value.trim();
  if (FUNCTIONS.has(text.toLowerCase())) return text.toLowerCase();
  const sequence = /^nextval\(\s*'((?:[^']|'')+)'(?:::regclass)?\s*\)$/i.exec(text)?.[1];
  if (sequence) return `nextval(${quoteLiteral(sequence.replaceAll("''", "'"))}::regclass)`;
  const quoted = readQuoted(text);
  if (quoted !== undefined) return quoteLiteral(quoted);
  if (/^[\w."]+\s*\([\s\S]*\)$/.test(text) || /::[\w\s."]+$/.test(text))
    throw invalidField(
      field,
      `must be a value or one of ${[...FUNCTIONS].join(', ')}, nextval('…'); a text that looks like an expression must be in quotes: '…'`,
    );
  return quoteLiteral(value);
}

/** Whether the default in the catalogue is the wanted one. */
export function isSameDefault(wanted: Json, current: string | null): boolean {
  if (wanted === null || current === null) return wanted === current;
  const written = readQuoted(current);
  if (typeof wanted === 'object') return isDeepStrictEqual(wanted, parsed(written));
  return String(wanted) === current || String(wanted) === written;
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** `'text'` and `'text'::type`, as the catalogue writes values. */
function readQuoted(text: string): string | undefined {
  return /^'((?:[^']|'')*)'(?:::[\w\s."]+(?:\([\d,\s]+\))?(?:\[\])*)?$/.exec(text)?.[1]?.replaceAll("''", "'");
}

function asText(value: Json): string | null {
  if (value === null) return null;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
