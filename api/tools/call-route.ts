import { AppError } from '#shared/core/errors.ts';
import { refuseManyNames } from './argument-names.ts';
import type { InProcess, InProcessRequest } from './in-process.ts';
import { readArguments } from './read-arguments.ts';
import type { RouteTool, ToolArguments, ToolCaller, ToolOptions, ToolResult } from './tool.ts';

/**
 * The largest response that a model receives. Serializing a larger one takes the process milliseconds, and it would fill
 * the model's context.
 */
export const MAX_ANSWER_BYTES = 1024 ** 2;

/**
 * Calls the route of a tool as its caller. Returns errors of the route as results; throws only for faults in the form of
 * the arguments.
 */
export async function callRouteTool(
  inProcess: InProcess,
  tool: RouteTool,
  { caller, args, signal, idempotencyKey }: { caller: ToolCaller; args: ToolArguments } & ToolOptions,
): Promise<ToolResult> {
  const request = requestOf(tool, caller.tenantID, { args, signal });
  const { status, text } = await inProcess.send(caller, {
    ...request,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  });
  if (text.length > MAX_ANSWER_BYTES) return tooLarge(tool, text.length);
  return { status, body: JSON.parse(text) as Record<string, unknown> };
}

function tooLarge({ annotations }: RouteTool, bytes: number): ToolResult {
  const done = annotations.readOnlyHint ? '' : ' What it was asked to do is done.';
  const message = `The answer has ${bytes} characters, and that of a tool may have ${MAX_ANSWER_BYTES}: ask for less (pageSize, limit, fields).${done}`;
  return { status: 413, body: { success: false, error: { code: 'PAYLOAD_TOO_LARGE', message } } };
}

/** The request that a client of REST would send. */
export function requestOf(
  tool: RouteTool,
  tenantID: string,
  { args, signal }: { args: ToolArguments } & ToolOptions,
): InProcessRequest {
  const { route, fields } = tool;
  refuseManyNames(args);
  const given = asFields(tool, readArguments(tool.inputSchema, args));
  const path = route.path.replace(/:(\w+)/g, (_parameter, name: string) =>
    encodeURIComponent(name === 'tenantID' ? tenantID : textOf(name, given[name])),
  );
  const query = queryOf(tool, given);
  const names = new Set([...fields.path, ...fields.query]);
  const rest = Object.entries(given).filter(([name]) => !names.has(name));
  return {
    method: route.method,
    url: query ? `${path}?${query}` : path,
    signal,
    ...bodyOf(tool, Object.fromEntries(rest)),
  };
}

function asFields({ renamed, lifted }: RouteTool, args: ToolArguments): Record<string, unknown> {
  const entries = Object.entries(args).map(([name, value]) => [renamed[name] ?? name, value] as const);
  if (!lifted) return Object.fromEntries(entries);
  const isInside = ([name]: readonly [string, unknown]) => !lifted.others.includes(name);
  return {
    ...Object.fromEntries(entries.filter((entry) => !isInside(entry))),
    [lifted.into]: Object.fromEntries(entries.filter(isInside)),
  };
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.isWellFormed()) return value;
  throw new AppError('VALIDATION_ERROR', `${name}: expected a text, received ${JSON.stringify(value) ?? 'nothing'}`);
}

/** The query string, in which each item of a list is a parameter of its own. */
function queryOf(tool: RouteTool, given: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...defaultsFor(tool, given), ...given })) {
    if (value === undefined || value === null || !isOfQuery(tool, name)) continue;
    for (const item of Array.isArray(value) ? value : [value])
      query.append(name, typeof item === 'string' ? item.toWellFormed() : JSON.stringify(item));
  }
  return query.toString();
}

/**
 * Whether an argument is sent in the query. An unknown argument is sent there if the route has no body, so that the
 * route reports it as an unknown field.
 */
function isOfQuery({ fields, renamed }: RouteTool, name: string): boolean {
  if (fields.query.includes(name)) return true;
  return fields.body === 'none' && !fields.path.includes(name) && !Object.values(renamed).includes(name);
}

/** The defaults of the tool. `pageSize` has none if the list is read with `limit` or `cursor`. */
function defaultsFor({ defaults }: RouteTool, { limit, cursor }: Record<string, unknown>): RouteTool['defaults'] {
  if (limit === undefined && cursor === undefined) return defaults;
  const { pageSize: _ofPages, ...others } = defaults;
  return others;
}

function bodyOf({ fields }: RouteTool, rest: Record<string, unknown>): { body?: unknown } {
  if (fields.body === 'none') return {};
  if (fields.body === 'other') return rest.body === undefined ? {} : { body: rest.body };
  return { body: rest };
}
