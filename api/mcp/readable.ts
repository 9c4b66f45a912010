import { isJsonObject } from '#shared/core/json.ts';
import type { ToolArguments } from '../tools/tool.ts';

/** Characters of an answer that a model gets at once. */
export const MAX_SHOWN = 16_000;
/** Characters of arguments that are repeated in the call that reads on. */
const MAX_REPEATED = 600;

export interface Shown {
  /** The tool that was called, with its arguments. */
  name: string;
  args: ToolArguments;
  /** Where the text begins, in characters. */
  offset?: number | undefined;
  /** Arguments that the tool has. */
  fields: readonly string[];
  /** Whether the same call may be made again to read on. */
  isRepeatable: boolean;
  /** Whether the model has called it by `call_tool`. */
  isCalledByName: boolean;
}

type Body = Readonly<Record<string, unknown>>;

/** An answer as short text: names and values a line each, lists of rows as tables, and at the end how many more there are and what may follow. */
export function readable(body: Body, shown: Shown): string {
  const { success: _said, next, ...fields } = body;
  const data = Object.entries(fields).filter(([name, value]) => !paging.has(name) && value != null);
  const { offset = 0 } = shown;
  const { text, isWhole } = beginning(linesOf(data), offset + MAX_SHOWN);
  const cut = isWhole ? text.length : cutAt(text, offset);
  const lines = [
    text.slice(offset, cut).toWellFormed(),
    isWhole ? moreOf(body, shown) : `[Cut after character ${cut}. ${readingOn(shown, cut)}]`,
    ...(Array.isArray(next) && next.length > 0 ? [`Next: ${next.join('; ')}.`] : []),
  ].filter((line) => line !== undefined && line !== '');
  return lines.length > 0 ? lines.join('\n') : 'Done.';
}

/** The text up to a length. No more lines are made than that, which for a large answer would take the process tens of milliseconds. */
function beginning(lines: Iterable<string>, end: number): { text: string; isWhole: boolean } {
  const parts: string[] = [];
  let length = -1;
  for (const line of lines) {
    parts.push(line);
    length += line.length + 1;
    if (length > end) return { text: parts.join('\n'), isWhole: false };
  }
  return { text: parts.join('\n'), isWhole: true };
}

function* linesOf(data: readonly (readonly [string, unknown])[]): Generator<string> {
  for (const [name, value] of data) yield* part(name, value);
}

const paging = new Set(['totalCount', 'totalPages', 'page', 'pageSize', 'nextCursor', 'nextPage', 'message']);

/** At the end of a line, if one ends in the second half of what is shown, and never within a character of two units. */
function cutAt(text: string, offset: number): number {
  const end = offset + MAX_SHOWN;
  const line = text.lastIndexOf('\n', end);
  if (line > offset + MAX_SHOWN / 2) return line + 1;
  return /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end;
}

function readingOn({ name, args, fields, isRepeatable, isCalledByName }: Shown, offset: number): string {
  if (fields.includes('offset')) return `Read on with ${callOf(name, { ...args, offset }, isCalledByName)}`;
  if (isRepeatable) return `Read on with ${callOf('call_tool', { name, arguments: args, offset }, false)}`;
  return 'Ask for less: fewer rows, or fewer fields';
}

function callOf(name: string, args: ToolArguments, isCalledByName: boolean): string {
  if (isCalledByName) return callOf('call_tool', { name, arguments: args }, false);
  const text = JSON.stringify(args);
  if (text.length <= MAX_REPEATED) return `${name} ${text}`;
  const { offset, cursor, page } = args;
  return `${name} with the same arguments and ${JSON.stringify({ offset, cursor, page })}`;
}

/** How many more rows there are, and the call that gets them. */
function moreOf(body: Body, { name, args, fields, isCalledByName }: Shown): string | undefined {
  const rows = Object.values(body).find((value) => Array.isArray(value));
  const { totalCount, totalPages, page, nextPage, nextCursor } = body;
  const shown = Array.isArray(rows) ? rows.length : 0;
  const count = typeof totalCount === 'number' ? `${shown} of ${totalCount} rows` : `${shown} rows`;
  const following = (more: ToolArguments) => {
    const { page: _before, cursor: _last, ...others } = args;
    return `${count}, and there are more: ${callOf(name, { ...others, ...more }, isCalledByName)}`;
  };
  if (typeof nextPage === 'number') return following({ page: nextPage });
  if (typeof page === 'number' && typeof totalPages === 'number' && fields.includes('page'))
    return page < totalPages ? following({ page: page + 1 }) : count;
  if (typeof nextCursor === 'string' || typeof nextCursor === 'number') return following({ cursor: nextCursor });
  return typeof totalCount === 'number' ? count : undefined;
}

function* part(name: string, value: unknown): Generator<string> {
  if (Array.isArray(value)) return yield* list(name, value);
  if (!isJsonObject(value)) return yield `${name}: ${scalar(value)}`;
  const inner = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  yield inner.length === 0 ? `${name}: none` : `${name}:`;
  for (const [key, each] of inner)
    if (Array.isArray(each) && each.length > 3 && each.slice(0, MAX_LOOKED_AT).every(isFlat))
      yield* list(`  ${key}`, each);
    else yield `  ${key}: ${scalar(each)}`;
}

/** Rows by which it is decided how a list is shown. */
const MAX_LOOKED_AT = 1_000;

function* list(name: string, values: readonly unknown[]): Generator<string> {
  if (values.length === 0) return yield `${name}: none`;
  const first = values.slice(0, MAX_LOOKED_AT);
  if (!first.every(isJsonObject)) return yield `${name}: ${values.map(scalar).join(', ')}`;
  yield `${name} (${values.length}):`;
  // Definitions are sent back, so that they are shown as the JSON that they are.
  if (!first.every(isFlat)) {
    for (const value of values) yield scalar(value);
    return;
  }
  const columns = [...new Set(first.flatMap((row) => Object.keys(row)))].filter((column) =>
    first.some((row) => row[column] !== null && row[column] !== undefined),
  );
  yield columns.join(' | ');
  for (const row of values) yield columns.map((column) => cell(isJsonObject(row) ? row[column] : row)).join(' | ');
}

function isFlat(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every((each) => typeof each !== 'object' || each === null);
}

function scalar(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' && !/[\n|]/.test(value) ? value : (JSON.stringify(value) ?? '');
}
